//! Small scripts held against bash itself: the GPUs that each shows its program.
//!
//! Both run each script for four ranks, bash with a program `app` that prints its variable. A value that is
//! unknown here is no fault where the script asks for a file or a command's output; any other one is.

use std::collections::BTreeSet;
use std::error::Error;
use std::path::Path;
use std::process::Command;

use super::followed_as;

/// Ends a script where the table leaves that out.
const SHOW: &str = "export CUDA_VISIBLE_DEVICES=$g; ./app";

/// Scripts that can be followed to their program, a line each (`¶` is the end of a line). Those
/// without `./app` set `g` for it.
const KNOWN: &str = r#"
f() { if [ $1 -gt 0 ]; then return 0; fi; return 1; }; if f $SLURM_LOCALID; then g=2; else g=3; fi
f() { return 3; }; f; g=$?
set -e; ( exit 1 ) & g=1; wait
false & g=$?
g=1; x={a..b.txt}; for i in {v1..v2}; do g=$g${#i}; done
r=$'\033[0m'; g=$SLURM_LOCALID
f() { return 256; }; f && g=1 || g=2
f() { false; return; }; f && g=1 || g=2
f() { [ $1 = 2 ]; }; f $SLURM_LOCALID && g=1 || g=2
f() { for i in 0 1 2; do [ $i = $SLURM_LOCALID ] && return; done; i=9; }; f; g=$i
(exit 4); g=$?
! false; g=$?
! true; g=$?
for i in 0 1 2; do for j in 0 1 2; do [ $j = 1 ] && break 2; done; done; g=$i$j
for i in 0 1 2; do for j in 0 1 2; do [ $j = 1 ] && continue 2; done; done; g=$i$j
n=0; for i in 0 1; do for j in 0 1; do n=$((n+1)); [ $n = 1 ] && continue 2; n=$((n+5)); done; done; g=$n
g=; for i in 0 1 2; do while true; do break 9; done; g=x; done; g=$g$i
i=0; g=; while [ $i -lt 9 ]; do i=$((i+1)); [ $i = 3 ] && continue; [ $i = 5 ] && break; g=$g$i; done
g=0; f() { local g=$1; g=$((g+1)); }; f 5
g=0; f() { local g; g=7; h; r=$g; }; h() { g=$((g+1)); }; f; g=$g,$r
g=0; f() { declare g=5; typeset h=1; }; h=3; f; g=$g$h
g=0; f() { declare -g g=5; }; f
g=(7 8); f() { local g=(1 2 3); n=${#g[@]}; }; f; g=$n${g[1]}
f() { local IFS=,; set -- $1; g=$2; }; f 4,5,6; l="1 2"; set -- $l; g=$g$2
f() { export g=$x; y=2; }; x=1 f; g=$g$y
x=0; f() { x=5; y=$x; }; x=1 f; g=$x$y
x=3; x=1 eval 'y=$x'; g=$x$y
CUDA_VISIBLE_DEVICES=3 ./app
f() { CUDA_VISIBLE_DEVICES=$1 ./app; }; f 2
[ 010 -ge 10 ] && g=1 || g=2
[ 08 -eq 8 ] && g=1 || g=2
[[ 010 -ge 10 ]] && g=1 || g=2
x=010; (( x >= 10 )) && g=1 || g=2
test 09 -lt 10 && g=1 || g=2
printf -v g %d 1; g=4
cat <<A >/dev/null¶	A¶g=1¶A¶g=2
cat <<-A >/dev/null¶	A¶g=1
l=(0 1 2 3); s="${l[@]:1:2}"; g=$s
l=(0 1 2 3); g="${l[@]}"
l=(0 1 2 3); IFS=,; g="${l[*]}"
l=(0 1 2 3); IFS=,; export CUDA_VISIBLE_DEVICES="${l[*]:1:2}"; ./app
set -- 4 5; IFS=:; g="$*"; unset IFS; g=$g$*
l=(0 1 2 3); IFS=,; g=${l[*]}
set -- 4 5; g=$@
export CUDA_VISIBLE_DEVICES=1; export -n CUDA_VISIBLE_DEVICES; CUDA_VISIBLE_DEVICES=2 ./app
readonly g=2; g=3 true; g=$g ./app; export CUDA_VISIBLE_DEVICES=$g; ./app
declare -r g=2; g=3 true
shopt -s nocasematch; case ABC in abc) g=1;; *) g=2;; esac
shopt -s nocasematch; [[ Ab == aB ]] && g=1 || g=2
shopt -s nocasematch; shopt -u nocasematch; [[ Ab == aB ]] && g=1 || g=2
case ABC in abc) g=1;; *) g=2;; esac
a=(1 2); a=5; g=${a[0]}${a[1]}$a
a=(1 2); a+=x; g=${a[0]}${a[1]}
a=(1 2); a[1]+=x; g=${a[0]}${a[1]}
a=5; a+=(6); g=${a[0]}${a[1]}${#a[@]}
a=(1 2); a+=(3); g=${#a[@]}${a[2]}
a[3]=x; g=${a[3]}${a[1]}
set 3 2 1; g=$2$#
set -e 3 2 1; g=$2$#
set -- 3 2; set -x; set +x; g=$1$#
set -o pipefail 7 8; g=$1$#
set --; g=$#
set -- 1 2; shift 5; g=$#$?
set -- 1 2 3; shift; shift 1; g=$1$#
set -- 1 2 3; g=${#@}${#*}${#}
set -- 1 2 3; g=${@:2:1}
x="1 2"; export g=$x; g=$g
x="1 2"; f() { local y=$x; g=$y; }; f
export g=1; export g+=2; g=$g
g=$(echo -n 3)
g=$(expr 010 + 1)
g=$(printf %d 010)
x="a b"; set -- $x; g=$#
x="a b"; set -- "$x"; g=$#
set -- a "" b; g=$#
set -- ""; g=$#
l=0,,2,; IFS=,; set -- $l; g=$#$3
l=' 0 ,, 2 '; IFS=' ,'; set -- $l; g=$#$3
IFS=, read a b c <<< "4,,6"; g=$a-$b-$c
IFS=', ' read a b c <<< "4 , 5  6 7 "; g=$a-$b-$c
IFS=, read -a p <<< "4,,6"; g=${#p[@]}${p[2]}
f() { local x; g=${x-7}${x:-8}; }; x=1; f
f() { local a; a+=(5); g=${#a[@]}${a[0]}; }; f
x=1; unset x; g=${x-7}${x+8}; x=2; g=$g${x-7}
a=(1 2 3); unset a; a+=(4); g=${#a[@]}${a[0]}
g=1; { g=2; } & wait
g=1; f() { export CUDA_VISIBLE_DEVICES=9; }; f & wait
set -- $UNSET_X a; set -- "$@"; set -- b; g=$#
IFS=, read -r -a p <<< "4,5,6"; g=${p[1]}
IFS=, read a b <<< "4,5,6"; l="1 2"; set -- $l; g=$a$b$#
if false; then g=1; fi; g=$?
for i in 1; do false; done; g=$?
case x in y) false;; esac; g=$?
x=3; if [ $x -eq 3 ]; then g=1; elif [ $x -eq 4 ]; then g=2; else g=3; fi
f() { g=$1; shift; g=$g$1$#; }; set -- 9; f 1 2 3; g=$g$1
f() { set -- 5 6; }; set -- 9; f; g=$1
g=; for i; do g=$i; done; g=x$g
while :; do g=1; break; done
until false; do g=1; break; done
x=; y=; g=${x:-1}${x-2}${y:+3}
y=abc; g=${y#a}${y%c}${y:1:1}${#y}
x=a.b.c; g=${x##*.}${x%%.*}
{ g=3; }; g=$g
true && g=1 || g=2
false || true && g=1
false && true || g=1
for i in {0..3}; do g=$i; [ $i = $SLURM_LOCALID ] && break; done
a=(x{b,c{d,e},}y{2..0}); g="${a[*]}"
a=({a,b}{,-} {} {x} {a..} "{a,b}" \{a,b} ${SLURM_LOCALID}{1,2}); g="${a[*]}"
set -- {1..4}; shift $SLURM_LOCALID; g=$1
set -e; g=1; [ 1 = 2 ] || g=2; [ 1 = 2 ] && g=3; if [ 1 = 2 ]; then g=4; fi; ! true; ./app
set -e; set +e; false; g=1
set -euo pipefail; f() { false; g=1; }; g=0; f && g=2
set -o errexit; while false; do :; done; g=1
case $SLURM_LOCALID in [[:digit:]]) g=1;; *) g=2;; esac
case x in [![:alpha:]]) g=1;; [a-]) g=2;; []x]) g=3;; esac
g=$(seq 3); set -- $g; g=$2$#
f() { return; }; false; f; g=$?
f() { g=$?; }; false; f
x=$'a\tb\'c'; g=${x%b*}${x#*b}
declare -i n=2+3; g=$n; n=4*2; n+=1; g=$g$n
for i in 'm*'; do g=$i; done
x='*'; g=$x"*"
g=; for ((;;)); do g=x$g; [ $g = xx ] && break; done
x=1; x=2 export x; g=$x
x=1; x=2 export y=3; g=$x$y
a=(); set -- "${a[@]}"; g=$#; set -- "${a[@]}x"; g=$g$#
set --; set -- "$@"; g=$#; set -- "$*"; g=$g$#
g=$[SLURM_LOCALID+1]
f() { local x=1; unset x; g=${x-7}; }; x=5; f; g=$g$x
f() { local x=$1; [ $x -gt 0 ] && f $((x-1)); g=$g$x; }; g=; f 3
export A=1; f() { local A=2; bash -c 'CUDA_VISIBLE_DEVICES=$A ./app'; }; f
set -- -g 3 ./app; while :; do case "$1" in -g) g=$2; shift 2;; *) break;; esac; done; CUDA_VISIBLE_DEVICES=$g "$@"
r=$SLURM_LOCALID; case $r in 0|1) g=0;; *) g=1;; esac
r=$SLURM_LOCALID; g=$(( r < 2 ? r * 2 : r + 1 ))
[ $SLURM_LOCALID = 2 ] && exec ./app; CUDA_VISIBLE_DEVICES=7 ./app
eval "g=\$SLURM_LOCALID"
eval 'f() { g=$1; }'; f 4
"#;

/// Scripts whose program's variable is not known, since a file, a command or the machine decides.
const OPEN: &str = r#"
G=($(cat map)); n=${#G[@]}; g=$((SLURM_LOCALID % n))
G=($(cat map)); g=${G[$SLURM_LOCALID]}
G=(9 $(cat map)); g=${G[1]}
G=($(cat map)); g=${G[@]:1:1}
G=($(cat map)); g="${G[*]}"
G=($(cat map)); H=("${G[@]}"); g=${#H[@]}
G=($(cat map)); H=(x "${G[@]:1}" y); g=${H[1]}
G=(); for i in $(cat map); do G+=($i); done; g=${G[0]}
G=(); while read l; do G+=("$l"); done < map; g=${#G[@]}
G=(); while read l; do G+=("$l"); done < map; g=x${G[0]}
mapfile -t G < map; g=${#G[@]}
mapfile -t G < map; G+=(5); g=${#G[@]}
read -a G < map; G+=(5); g=${#G[@]}
mapfile -t G < map; H=("${G[@]}"); g=${#H[@]}
set -- $(cat map); g=$2
set -- $(cat map); g=$#
set -- $(cat map); shift; g=$1
set -- a $(cat map); shift $2; g=$1
f() { g=$2; }; f $(cat map)
f() { g=$#; }; f $(cat map)
for i in $(cat map); do g=$i; done
g=0; for i in $(cat map); do g=$((g+1)); done
g=0; for i in $(cat map); do [ $g = 1 ] && break; g=1; done; g=x$g
for i in $(cat map); do CUDA_VISIBLE_DEVICES=1; [ $i = 2 ] && exec ./app; done; CUDA_VISIBLE_DEVICES=5 ./app
x=$(cat map); set -- $x; g=$#
l=(0 1 2 3); g="${l[@]:1:$(cat one)}"
setup() { [ -x /usr/bin/env ] || return; g=$SLURM_LOCALID; }; setup
setup() { [ -e /nowhere ] && return; g=$SLURM_LOCALID; }; g=9; setup
for i in 0 1 2; do [ -e /nowhere ] && continue; g=$i; done
for i in 0 1 2; do g=$i; [ -x /usr/bin/env ] && break; done
for i in 0 1 2; do for j in 0 1; do [ -x /usr/bin/env ] && break 2; g=$i$j; done; done
for i in 0 1 2; do for j in 0 1; do g=$i$j; [ -x /usr/bin/env ] && continue 2; done; g=x; done
f() { for i in 0 1 2; do g=$i; [ -x /usr/bin/env ] && return; done; g=9; }; f; g=$g
f() { [ -x /usr/bin/env ] && exec ./app; g=1; }; f; CUDA_VISIBLE_DEVICES=$g ./app
f() { [ -x /usr/bin/env ] && return 1; return 0; }; f && g=1 || g=2
for i in 0 1; do [ -x /usr/bin/env ] && break; f; done; f() { g=5; }; g=$i
f() { g=1; }; [ -e /nowhere ] && f() { g=2; }; f
if [ -e /nowhere ]; then f() { g=1; }; else f() { g=2; }; fi; f
f() { [ -x /usr/bin/env ] && local g=5; g=6; }; g=1; f
[ -x /usr/bin/env ] && a=(1 2); g=${a[1]}
a=(1 2); unset 'a[0]'; g=${#a[@]}
a[3]=x; g=${#a[@]}
x=$(cat one) && g=1 || g=2
for f in ma*; do g=$f; done
a=(*); g=${#a[@]}
set -- ma?; g=$1
for i in {a..c}; do g=$i; done
for i in {00..03}; do g=$i; done
x=$(cat /nowhere) || g=2; g=x$g
a[3]=x; b=("${a[@]}"); g=${b[0]}
echo 'export CUDA_VISIBLE_DEVICES=3; ./app' | bash
export CUDA_VISIBLE_DEVICES=1; bash <<END¶export CUDA_VISIBLE_DEVICES=3; ./app¶END
readonly x=1; x=2; g=$x
export $(cat assigned); ./app
f() { case $1 in a) return 0;; esac; return 1; }; f $(cat one) && g=1 || g=2
x=$(cat one); while [ $x -lt 3 ]; do x=$((x+1)); g=$x; done
for ((i=0; i<$(cat one); i++)); do g=$i; done
"#;

/// The scripts of a table.
fn scripts(table: &str) -> impl Iterator<Item = String> {
    table.lines().filter(|line| !line.is_empty()).map(|line| match line.contains("./app") {
        true => line.replace('¶', "\n"),
        false => format!("{}\n{SHOW}", line.replace('¶', "\n")),
    })
}

/// Puts `app` and the files that scripts read into a folder.
fn prepare(folder: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;

    let app = folder.join("app");
    std::fs::write(&app, "#!/bin/sh\necho \"${CUDA_VISIBLE_DEVICES--}\"\n")?;
    std::fs::set_permissions(&app, std::fs::Permissions::from_mode(0o755))?;
    std::fs::write(folder.join("map"), "3\n2\n1\n0\n")?;
    std::fs::write(folder.join("one"), "1\n")?;
    std::fs::write(folder.join("assigned"), "CUDA_VISIBLE_DEVICES=3\n")
}

/// What the programs show that bash starts.
fn by_bash(script: &str, rank: usize, folder: &Path) -> std::io::Result<BTreeSet<String>> {
    let shown = Command::new("bash")
        .args(["-c", script])
        .current_dir(folder)
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("SLURM_LOCALID", rank.to_string())
        .output()?
        .stdout;
    Ok(String::from_utf8_lossy(&shown).lines().map(str::to_owned).collect())
}

/// What the interpreter says of them; `None` where it does not know that of some.
fn by_numabench(script: &str, rank: usize) -> Option<BTreeSet<String>> {
    let ended = followed_as(rank, script, &[]).ok()?;
    ended.into_iter().map(|(shown, _)| (!shown.starts_with("not known")).then_some(shown)).collect()
}

/// Whether the interpreter's answer is as the table wants it. Programs of which one may be started are open.
fn is_right(own: Option<&BTreeSet<String>>, bash: &BTreeSet<String>, is_known: bool) -> bool {
    match own {
        Some(own) if is_known => own == bash,
        Some(own) => own.len() > 1 && own.is_superset(bash),
        None => !is_known,
    }
}

#[test]
fn what_a_script_shows_its_program_is_what_bash_shows_it() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    prepare(folder.path())?;
    let mut faults = Vec::new();

    for (table, is_known) in [(KNOWN, true), (OPEN, false)] {
        for script in scripts(table) {
            for rank in 0..4 {
                let bash = by_bash(&script, rank, folder.path())?;
                let own = by_numabench(&script, rank);
                if !is_right(own.as_ref(), &bash, is_known) {
                    faults.push(format!("{script}: rank {rank}: {own:?}, and bash shows {bash:?}"));
                    break;
                }
            }
        }
    }
    assert!(faults.is_empty(), "{} scripts:\n{}", faults.len(), faults.join("\n"));
    Ok(())
}
