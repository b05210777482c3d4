//! Expressions held against bash itself.

use std::collections::BTreeMap;
use std::process::Command;

use super::*;

/// `x`, `y`, `z` and `a[0]` to `a[2]` of a shell.
#[derive(Clone, Debug, PartialEq)]
struct Shell(BTreeMap<String, Option<i64>>);

const START: [(&str, i64); 6] = [("x", 5), ("y", 0), ("z", -3), ("a0", 7), ("a1", 8), ("a2", 9)];

impl Shell {
    fn key(target: &Target) -> Option<String> {
        Some(match &target.index {
            Some(index) => format!("{}{}", target.name, (*index)?),
            None if target.name == "a" => "a0".to_owned(),
            None => target.name.clone(),
        })
    }
}

impl Variables for Shell {
    fn number(&self, target: &Target) -> Option<i64> {
        self.0.get(&Self::key(target)?).copied().unwrap_or(Some(0))
    }

    fn assign(&mut self, target: &Target, value: Option<i64>) {
        match Self::key(target) {
            Some(key) => {
                self.0.insert(key, value);
            }
            None => self.lose(&target.name),
        }
    }

    fn lose(&mut self, name: &str) {
        self.0.iter_mut().filter(|(key, _)| key.starts_with(name)).for_each(|(_, value)| *value = None);
    }
}

/// Expressions, with `;` behind each.
const EXPRESSIONS: &str = "
x<2?(y=0):(y=16);x>2?(y=4):(y=16);x>2?y=4:0;y&&(x=1);y||(x=1);x&&(z=1);x||(z=1);x<<=1;x>>=1;x&=4;
x^=1;x|=2;x*=3;x/=2;x%=3;x+=z;x-=z;x=y=9;x=1,y=2;(x=1,y=2)+x;a[1]=4;a[1]+=2;a[x-4]++;++a[2];a[y]--;
a=3;a+1;a[1]*a[2];x++;++x;x--;--x;x+++y;x---y;x++ + ++x;- -x;-x**2;2**3**2;!x;!y;~x;!x==y;x==5;
x!=5;x>=5&&z<0;1<<62;1<<64;1<<65;x<<-1;9223372036854775807+1;3**50;7/2;-7/2;-7%3;x/y;x%y;y&&x/y;
x||x/y;2**-1;08;010;0x1F;2#101;16#ff;x?1:x/0;y?x/0:2;x=;=1;1=2;x+;(x;x);x ? 1;x?y=1:z=2;1,2,3;
x,(y=3);y?1:y?2:3;(y?x:z)=1;x = y ? 1 : 2;x=x>y?x:y;x&y|z^1;x<y<1;x<=y>=0;w;w++;x+w; x  +  1 ;
x&&y||z;(y=1)&&(z=2);(y=0)&&(z=2);y=1&&(z=4);x^y&z;x%2==1?10:20;(x-1)/2*16;++5;--5;+-+x;x=+3;x=-3;
x==y?1:0;x!=y;x=!y;
";

/// What bash makes of each: the value, where it has one, and the variables afterwards.
fn by_bash(expressions: &[String]) -> std::io::Result<Vec<(Option<i64>, Vec<i64>)>> {
    let each = |expression: &String| {
        let script = format!(
            "x=5; y=0; z=-3; a=(7 8 9); v=none; \
             trap 'echo $v $x $y $z ${{a[0]}} ${{a[1]}} ${{a[2]}}' EXIT; \
             v=$(({expression}))"
        );
        let shown = Command::new("bash").args(["-c", &script]).output()?.stdout;
        let shown = String::from_utf8_lossy(&shown).into_owned();
        let mut words = shown.split_whitespace().map(|word| word.parse().ok());
        Ok((words.next().flatten(), words.flatten().collect()))
    };
    expressions.iter().map(each).collect()
}

#[test]
fn expressions_come_to_what_bash_makes_of_them() -> std::io::Result<()> {
    let written = EXPRESSIONS.split(';').map(|one| one.trim_matches('\n').to_owned());
    let mut expressions: Vec<String> = written.filter(|one| !one.is_empty()).collect();
    for operator in
        ["+", "-", "*", "/", "%", "<<", ">>", "&", "|", "^", "&&", "||", "==", "<", ">", ">=", "**"]
    {
        for (left, right) in [("x", "y"), ("z", "2"), ("x++", "x"), ("y", "x=2"), ("x", "(y=z)")] {
            expressions.push(format!("{left} {operator} {right}"));
        }
    }

    let mut known = 0;
    for (expression, (value, variables)) in expressions.iter().zip(by_bash(&expressions)?) {
        let mut shell = Shell(START.iter().map(|(name, value)| ((*name).to_owned(), Some(*value))).collect());
        let own = super::value(expression, &mut shell);
        // A parenthesis too few or too many ends the script before it begins.
        assert!(variables.len() == START.len() || value.is_none(), "{expression}");
        known += usize::from(own.is_some());
        assert!(own.is_none() || own == value, "{expression}: {own:?}, and bash has {value:?}");
        assert!(own.is_some() || value.is_none(), "{expression}: not known, and bash has {value:?}");
        for ((name, _), bash) in START.iter().zip(variables) {
            let own = shell.0[*name];
            assert!(own.is_none_or(|own| own == bash), "{expression}: {name} is {own:?}, and {bash} in bash");
            assert!(
                own.is_some() || value.is_none(),
                "{expression}: {name} is not known, and {bash} in bash"
            );
        }
    }
    assert!(known > 140, "{known} of {}", expressions.len());
    Ok(())
}

#[test]
fn what_may_not_be_evaluated_leaves_its_variables_unknown() {
    for (expression, value, y) in [
        ("u ? (y=1) : 2", None, None),
        ("u && (y=1)", None, None),
        ("u || (y=1)", Some(1), None),
        ("u && (y=0)", Some(0), None),
        ("u ? 3 : 3", Some(3), Some(0)),
        ("u ? x/0 : 3", None, Some(0)),
        ("y = u", None, None),
        ("a[u] = 1", Some(1), Some(0)),
    ] {
        let start = START.iter().map(|(name, value)| ((*name).to_owned(), Some(*value)));
        let mut shell = Shell(start.chain([("u".to_owned(), None)]).collect());
        assert_eq!((super::value(expression, &mut shell), shell.0["y"]), (value, y), "{expression}");
        assert_eq!(shell.0["a1"].is_none(), expression.starts_with('a'), "{expression}");
    }
}
