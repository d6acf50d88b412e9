"""Same program: shells, tools, version control and compilers do the same with and without the recorder."""

import re

from harness import case, check, each, equal, installed, main, program

SHELL_SCRIPT = r"""
set -e
trap 'echo leaving $?' EXIT
numbers=$(seq 1 500)
sum=0
for n in $numbers; do sum=$((sum + n)); done
echo sum $sum
cat > lines <<END
beta
alpha
gamma $sum
END
sort < lines | while read -r word rest; do echo "[$word] $rest"; done
( exit 3 ) || echo subshell $?
f() { local deep=$1; if [ "$deep" -gt 0 ]; then f $((deep - 1)); else echo bottom; fi; }
f 100
printf '%s\n' *
test "$(echo one | tr a-z A-Z)" = ONE
sleep 0 & wait $!
kill -0 $$ && echo alive
sh -c 'kill -TERM $$' || echo killed $?
exit 7
"""


@each(bash="bash", dash="dash")
def a_script_runs_the_same_in(test, shell):
    test.same([installed(shell), "-c", SHELL_SCRIPT], forms=("record", "direct", "follow"), events=20, tapes=5)


@case
def ldd_says_the_same(test):
    ldd, ls = installed("ldd", "ls")
    outcome = test.same([ldd, ls], normal=lambda text: re.sub(rb"\(0x[0-9a-f]+\)", b"(address)", text))[0]
    check(b"libc.so.6" in outcome.out, "the libraries are listed")


def some_files(folder):
    for number in range(40):
        (folder / f"file{number}").write_text("".join(f"{number * line * 7919 % 10007} line\n" for line in range(300)))
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "deep" / "er" / "link").symlink_to("../../file3")


@each(sort="sort -n --parallel=2 file* > sorted; sort -u sorted | wc -l", ls="ls -lR --time-style=+ . | grep -v ^total",
      sha256sum="sha256sum file* | tee sums; sha256sum -c sums", cp="cp -r deep copy; rm -r deep; mv copy moved; stat -c %F moved/er/link",
      sed_and_awk="sed -n 's/1/one/gp' file1 | awk '{n[$1]++} END {for (k in n) s += n[k]; print s}'",
      find_and_xargs="find . -name 'file*' -print0 | xargs -0 -n 7 -P 2 wc -c | grep -c total; find . -type l -exec readlink {} +",
      tar_and_gzip="tar --sort=name --mtime=@0 --owner=0 --group=0 -cf - file* deep | gzip -n9 > all.tgz; tar -tzf all.tgz | wc -l; sha256sum all.tgz",
      xz_with_threads="cat file* > all; xz -T2 -k --block-size=20KiB all; sha256sum all.xz; xz -dc all.xz | cmp - all",
      diff="diff file1 file2 | tail -n 5; diff -r . . && echo same; cmp file3 file3")
def a_pipeline_does_the_same_with(test, script):
    test.same([installed("sh"), "-c", script], prepare=some_files, forms=("record", "follow"), tapes=2)


@each(sort=["sort", "-n", "file1", "file2"], sha256sum=["sha256sum", "file1"], ls=["ls", "-1"], wc=["wc", "file3"],
      tac=["tac", "file5"], factor=["factor", "1234567890123456789"], expr_failing=["expr", "1", "+"],
      cat_of_nothing=["cat", "no such file"])
def a_tool_alone_does_the_same(test, command):
    test.same([installed(command[0]), *command[1:]], prepare=some_files, forms=("record", "direct"))


GIT_SCRIPT = """
set -e
export GIT_AUTHOR_DATE='2020-02-02T02:02:02Z' GIT_COMMITTER_DATE='2020-02-02T02:02:02Z'
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=c GIT_COMMITTER_EMAIL=c@example.org
git init -q -b trunk .
git config pack.threads 2
git add file*
git commit -q -m first
for i in 1 2 3 4 5; do echo change $i >> file$i; git commit -q -a -m "change $i"; done
git checkout -q -b side HEAD~2
echo other >> file9; git commit -q -a -m side
git checkout -q trunk; git merge -q -m merge side
git gc -q
git fsck --strict
git log --graph --stat --format='%H %s'
git blame -s file1 | tail -n 3
git diff HEAD~3 | sha256sum
git archive HEAD | sha256sum
git status --short
rm -rf .git
"""


@case
def git_makes_the_same_history(test):
    sh, _ = installed("sh", "git")
    test.same([sh, "-c", GIT_SCRIPT], prepare=some_files, forms=("follow",), tapes=20)


@case
def git_log_alone_is_the_same(test):
    """Not with Test.same: a repository's own files differ from one preparation to the next."""
    git, sh = installed("git", "sh")
    some_files(test.work)
    test.run([sh, "-c", GIT_SCRIPT.replace("rm -rf .git", "")])
    plain = test.run([git, "log", "--stat", "-p"])
    for form in ("record", "direct"):
        outcome = test.record([git, "log", "--stat", "-p"], form=form)
        equal((outcome.status, outcome.out, outcome.err), (plain.status, plain.out, plain.err), f"git log ({form})")
        outcome.tape.verify()
        check(outcome.tape.event_count() > 500, "events")


CPP_SOURCE = """
#include <map>
#include <string>
#include <vector>
#include <algorithm>
#include <iostream>
template <int N> struct Tower { Tower<N - 1> below; std::map<std::string, std::vector<int>> level; };
template <> struct Tower<0> { int ground = 0; };
int main() {
  Tower<20> tower;
  tower.level["a"].push_back(3);
  std::vector<std::string> words{"c", "a", "b"};
  std::sort(words.begin(), words.end());
  for (const auto& word : words) std::cout << word << tower.level["a"].size() << std::endl;
}
"""


@each(gcc="g++", clang="clang++")
def a_compiler_makes_the_same_object_and_program(test, name):
    compiler = installed(name)

    def prepare(folder):
        (folder / "tower.cpp").write_text(CPP_SOURCE)

    script = f"{compiler} -O1 -g -c tower.cpp -o tower.o && {compiler} tower.o -o tower && ./tower"
    outcome = test.same([installed("sh"), "-c", script], prepare=prepare, forms=("follow",), tapes=3)[0]
    equal(outcome.out, b"a1\nb1\nc1\n", "what the compiled program printed")
    check(max(tape.event_count() for tape in outcome.tapes) > 5000, "the compiler itself was recorded")


@case
def the_compiler_proper_is_recorded_alone(test):
    compiler = installed("g++")
    cc1plus = test.run([compiler, "-print-prog-name=cc1plus"]).out.decode().strip()

    def prepare(folder):
        (folder / "tower.cpp").write_text(CPP_SOURCE)

    test.same([cc1plus, "-quiet", "-O1", "-D_GNU_SOURCE", "tower.cpp", "-o", "tower.s"], prepare=prepare, forms=("record",),
              events=1000)


@case
def make_builds_the_same(test):
    def prepare(folder):
        (folder / "Makefile").write_text("all: a b c\n\tcat $^ > all\na b c:\n\techo $@ made > $@\n")

    test.same([installed("make"), "-j2", "--output-sync"], prepare=prepare, forms=("record", "follow"), events=100, tapes=3,
              normal=lambda text: b"\n".join(sorted(text.splitlines())))


@case
def gdb_debugs_the_same(test):
    gdb = installed("gdb")
    command = [gdb, "-nx", "-batch", "-ex", "set startup-with-shell off", "-ex", "break innermost", "-ex", "run", "-ex", "bt",
               "-ex", "kill", program("known_frames")]

    def normal(text):
        return re.sub(rb"0x[0-9a-f]+|process \d+", b"N", text)

    outcome = test.same(command, forms=("record",), events=1000, normal=normal)[0]
    check(b"#2" in outcome.out and b"outermost" in outcome.out, f"there is a backtrace: {outcome.out} {outcome.err}")


@case
def a_script_with_an_interpreter_line_is_recorded(test):
    def prepare(folder):
        for name, line in (("plain", f"#!{installed('bash')}"), ("env", "#!/usr/bin/env bash")):
            (folder / name).write_text(f"{line}\nx=$(echo in)\necho $0 $1 $x\n")
            (folder / name).chmod(0o755)

    for name in ("./plain", "./env"):
        test.same([name, "argument"], prepare=prepare, forms=("record",), events=20)


if __name__ == "__main__":
    raise SystemExit(main())
