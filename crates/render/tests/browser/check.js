// What a page says of itself, for the browser's tests: run in the page, told to the page around it.
const faults = [];
addEventListener('error', (event) => faults.push('script error: ' + event.message));
document.addEventListener('securitypolicyviolation', (event) => faults.push('asked for ' + event.blockedURI));
const bright = (colour) => {
  const [r, g, b] = colour.match(/[\d.]+/g).slice(0, 3).map((c) => (c / 255) ** 2.2);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const meets = (a, b) => a.left < b.right - 1.5 && b.left < a.right - 1.5 && a.top < b.bottom - 2.5 && b.top < a.bottom - 2.5;
addEventListener('load', () => {
  const seen = (element) => element.getClientRects().length > 0;
  document.querySelectorAll('details').forEach((details) => { details.open = true; });
  const wide = document.documentElement;
  if (wide.scrollWidth > innerWidth + 1) faults.push(`the page is ${wide.scrollWidth} px wide`);
  let values = 0, texts = 0, cells = 0;
  for (const svg of document.querySelectorAll('svg')) {
    if (!seen(svg)) continue;
    const frame = svg.getBoundingClientRect();
    const name = svg.getAttribute('aria-label').slice(0, 60);
    const all = [...svg.querySelectorAll('text')].map((text) => [text, text.getBoundingClientRect()]);
    const boxes = [...svg.querySelectorAll('rect[rx]')].map((box) => box.getBoundingClientRect());
    all.forEach(([text, rect], at) => {
      texts++;
      // A figure that stands on its colour is of no use without its end.
      if (text.getAttribute('fill') && text.textContent.endsWith('…')) faults.push(`${name}: "${text.textContent}" is cut`);
      if (rect.left < frame.left - 1 || rect.right > frame.right + 1 || rect.bottom > frame.bottom + 2)
        faults.push(`${name}: "${text.textContent}" is beyond the picture`);
      for (const [other, place] of all.slice(at + 1))
        if (meets(rect, place)) faults.push(`${name}: "${text.textContent}" is over "${other.textContent}"`);
      const middle = [(rect.left + rect.right) / 2, (rect.top + rect.bottom) / 2];
      const around = boxes.filter((box) => box.left <= middle[0] && box.right >= middle[0] && box.top <= middle[1] && box.bottom >= middle[1]);
      around.sort((a, b) => a.width * a.height - b.width * b.height);
      if (around[0] && (rect.left < around[0].left - 1 || rect.right > around[0].right + 1))
        faults.push(`${name}: "${text.textContent}" is beyond its box`);
    });
    // Marks with a value show it under the pointer: what is hit there has a title.
    for (const mark of svg.querySelectorAll('circle, rect, path')) {
      if (!mark.querySelector('title')) continue;
      const rect = mark.getBoundingClientRect();
      if (rect.width > 40 && rect.height > 40) continue;
      const hit = document.elementFromPoint((rect.left + rect.right) / 2, (rect.top + rect.bottom) / 2);
      if (hit && hit.querySelector('title')) values++;
    }
  }
  for (const table of document.querySelectorAll('table.heat')) {
    const found = [...table.querySelectorAll('td[style]')].filter((cell) => !isNaN(parseFloat(cell.textContent)));
    const figures = found.map((cell) => [parseFloat(cell.textContent), bright(cell.style.backgroundColor), cell.style.backgroundColor]);
    figures.sort((a, b) => a[0] - b[0]);
    cells += figures.length;
    const rises = figures.length && figures[figures.length - 1][1] >= figures[0][1] ? 1 : -1;
    for (let at = 1; at < figures.length; at++) {
      const [low, high] = [figures[at - 1], figures[at]];
      if ((high[1] - low[1]) * rises < -0.02) faults.push(`colours of ${low[0]} and ${high[0]} do not differ as they do`);
      if (high[0] > low[0] * 1.08 && high[2] === low[2]) faults.push(`${low[0]} and ${high[0]} have one colour`);
    }
    for (const cell of found) {
      const [ink, paper] = [bright(cell.style.color), bright(cell.style.backgroundColor)];
      if ((Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05) < 4) faults.push(`${cell.textContent} does not stand out`);
      // The same figure, in whatever unit it is said.
      const figure = parseFloat(cell.textContent), said = [...cell.title.matchAll(/[\d.]+/g)].map((found) => parseFloat(found[0]));
      const same = said.some((number) => [1, 1e3, 1e6, 1e-3].some((unit) => Math.abs(number * unit / figure - 1) < 0.01));
      if (!same) faults.push(`nothing under the pointer at ${cell.textContent}`);
    }
  }
  const style = getComputedStyle(document.body);
  const [ink, paper] = [bright(style.color), bright(style.backgroundColor)];
  if ((Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05) < 7) faults.push('text does not stand out');
  if (matchMedia('(prefers-color-scheme: dark)').matches !== paper < 0.5) faults.push('the page is not as dark as the reader asks');
  if (performance.getEntriesByType('resource').length) faults.push('the page asked for something');
  parent.postMessage({ page: name_of_page, wide: innerWidth, dark: paper < 0.5, values, texts, cells, faults: faults.slice(0, 12) }, '*');
});
