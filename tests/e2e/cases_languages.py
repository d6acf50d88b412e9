"""Same program: interpreters, virtual machines, databases and a server under load."""

import subprocess
import sys

from harness import Skip, case, check, each, equal, installed, main, program, wait_until
from tape import HANG_SECONDS

PYTHON_SCRIPT = """
import collections, hashlib, json, os, re, subprocess, sys, threading, tempfile
words = collections.Counter(re.findall(r"\\w+", __doc__ or "" + " ".join(str(n * n) for n in range(2000))))
print(len(words), json.dumps(words.most_common(3)))
results = []
def work(n):
    data = [hashlib.sha256(str(i).encode()).hexdigest() for i in range(n, n + 200)]
    results.append((n, len("".join(data))))
threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
for t in threads: t.start()
for t in threads: t.join()
print(sorted(results))
print(subprocess.run([sys.executable, "-c", "import sys; sys.exit(5)"]).returncode)
print(subprocess.check_output(["sh", "-c", "echo from a child; echo $LD_PRELOAD"]))
r, w = os.pipe()
pid = os.fork()
if pid == 0:
    os.write(w, b"from a fork")
    os._exit(6)
print(os.read(r, 100), os.waitpid(pid, 0)[1])
import concurrent.futures
with concurrent.futures.ProcessPoolExecutor(2) as pool: print(sum(pool.map(abs, range(-50, 50))))
sys.exit(9)
"""


@each(its_own_allocator={}, malloc_for_everything={"PYTHONMALLOC": "malloc"})
def python_runs_threads_and_children_the_same_with(test, env):
    test.same([sys.executable, "-I", "-c", PYTHON_SCRIPT], env=env, forms=("record", "direct"), events=500)


def python_with_its_tests():
    """An installed python whose test suite is installed too; Debian packs it apart."""
    for name in (sys.executable, "python3", "/usr/bin/python3"):
        command = [name, "-c", "import sys, test.test_threading; print(sys.executable)"]
        found = subprocess.run(command, capture_output=True, timeout=HANG_SECONDS, check=False, text=True)
        if found.returncode == 0:
            return found.stdout.strip()
    raise Skip("no python with its test suite is installed")


# Of python's own tests for processes and threads, those that do not mostly sleep.
@each(subprocess=["test_subprocess", *"-m test_close_fds* -m *preexec* -m test_send_signal* -m test_restore_signals -m "
                  "test_start_new_session -m test_run_* -m test_pass_fds* -m test_communicate_[a-r]* -m test_wait".split()],
      threads=["test_thread"],
      threading=["test_threading", *"-m ThreadTests -m ThreadJoinOnShutdown -m SubinterpThreadingTests -m ThreadingExceptionTests "
                 "-i test_import_from_another_thread".split()])
def pythons_own_tests_pass_for(test, arguments):
    command = [python_with_its_tests(), "-m", "test", "-q", *arguments]
    outcome = test.record(command)
    if outcome.status != 0 and test.run(command).status != 0:
        raise Skip("they do not pass here without the recorder either")
    equal(outcome.status, 0, f"status; output {outcome.out[-3000:]} {outcome.err[-3000:]}")
    outcome.tape.verify()


@case
def perl_runs_the_same(test):
    script = """
      my %count; $count{$_ * 7919 % 101}++ for 1..20000;
      print join(",", map { "$_=$count{$_}" } sort { $a <=> $b } keys %count), "\\n";
      my $text = join("\\n", map { "line $_" } 1..3000); my $n = () = $text =~ /\\b1\\d*/g; print "$n\\n";
      print `echo child`; my $pid = fork(); if (!$pid) { exit 3 } waitpid($pid, 0); print $? >> 8, "\\n";
      open(my $f, ">", "file") or die; print $f $text; close $f; exit 4;
    """
    test.same([installed("perl"), "-e", script], events=3000, forms=("record", "direct", "follow"), tapes=2)


SQL = """
create table t(id integer primary key, name text, value real);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 5000)
insert into t select i, printf('name %d', i * 7919 % 5003), i / 7.0 from n;
create index by_name on t(name);
select count(*), sum(value), min(name), max(name) from t;
select name, count(*) from t group by substr(name, 1, 6) order by 2 desc limit 5;
delete from t where id % 3 = 0; vacuum; pragma integrity_check;
select json_group_array(name) from (select name from t order by name limit 20);
select no_such_function(1);
"""


@each(in_memory=[], in_a_file=["data.db"])
def sqlite_gives_the_same_answers(test, arguments):
    test.same([installed("sqlite3"), *arguments], input=SQL.encode(), events=2000, forms=("record", "direct"))


@case
def node_runs_the_same(test):
    script = """
      const {execFileSync} = require('child_process'); const {Worker, isMainThread} = require('worker_threads');
      let m = new Map(); for (let i = 0; i < 50000; i++) m.set('k' + (i * 7919 % 9973), {i, a: [i]});
      console.log(m.size, execFileSync('echo', ['child']).toString());
      const w = new Worker("require('worker_threads').parentPort.postMessage(Buffer.alloc(1e6, 7).length)", {eval: true});
      w.on('message', n => { console.log('worker', n); }); w.on('exit', () => process.exit(3));
    """
    test.same([installed("node"), "-e", script], events=1000, forms=("record",))


JAVA_SOURCE = """
import java.util.*;
public class Sums {
  public static void main(String[] a) throws Exception {
    Map<Integer, List<String>> m = new TreeMap<>();
    for (int i = 0; i < 100000; i++) m.computeIfAbsent(i * 7919 % 101, k -> new ArrayList<>()).add("v" + i);
    Thread[] ts = new Thread[4];
    int[] sums = new int[4];
    for (int t = 0; t < 4; t++) { int n = t; ts[t] = new Thread(() -> { for (var l : m.values()) sums[n] += l.size(); }); ts[t].start(); }
    for (Thread t : ts) t.join();
    System.gc();
    Process p = new ProcessBuilder("echo", "child").start();
    System.out.println(new String(p.getInputStream().readAllBytes()) + Arrays.toString(sums));
    System.exit(6);
  }
}
"""


@case
def a_java_virtual_machine_runs_the_same(test):
    java, javac = installed("java", "javac")

    def prepare(folder):
        (folder / "Sums.java").write_text(JAVA_SOURCE)
        test.run([javac, "Sums.java"])

    outcome = test.same([java, "-Xmx200m", "-XX:-UsePerfData", "-cp", ".", "Sums"], prepare=prepare, forms=("record", "direct"),
                        events=1000)[0]
    check(b"100000, 100000" in outcome.out, "the sums")


@case
def a_java_compiler_makes_the_same_class(test):
    def prepare(folder):
        (folder / "Sums.java").write_text(JAVA_SOURCE)

    test.same([installed("javac"), "Sums.java"], prepare=prepare, forms=("record",), events=1000)


@case
def redis_serves_the_same_under_load(test):
    server, client, load = installed("redis-server", "redis-cli", "redis-benchmark")
    socket = test.work / "socket"
    process = test.start_record([server, "--port", "0", "--unixsocket", str(socket), "--save", "", "--dir", str(test.work)])
    wait_until(lambda: ask(test, [client, "-s", socket, "ping"]).stdout == b"PONG\n", "redis answers")
    loaded = ask(test, [load, "-s", socket, "-n", "4000", "-c", "10", "-q", "-r", "500", "-t", "set,get,lpush,hset,sadd"])
    check(loaded.returncode == 0, loaded.stderr)
    for command, expected in ((["set", "a", "b"], b"OK\n"), (["get", "a"], b"b\n"), (["exists", "mylist"], b"1\n"),
                              (["bgsave"], b"Background saving started\n")):
        equal(ask(test, [client, "-s", socket, *command]).stdout, expected, f"answer to {command}")
    wait_until(lambda: (test.work / "dump.rdb").exists(), "the forked child has saved")
    ask(test, [client, "-s", socket, "shutdown", "nosave"])
    outcome = test.finish(process)
    equal(outcome.status, 0, f"status of the server: {outcome.err}")
    (tape,) = test.tapes()
    tape.verify()
    check(tape.event_count() > 20000, f"{tape.event_count()} events")


def ask(test, command):
    return subprocess.run([str(word) for word in command], capture_output=True, timeout=HANG_SECONDS, env=test.env, cwd=test.work,
                          check=False)


@case
def a_go_program_with_c_in_it_starts_with_any_number_of_options(test):
    # Its runtime looks for the auxiliary vector behind the environment.
    go_program = program("calls_c_go")
    for options in ([], ["--no-index"], ["--no-index", "--no-symbols"], ["--no-index", "--no-symbols", "--no-free-stacks"]):
        outcome = test.record([go_program], options=options)
        equal((outcome.status, outcome.out), (0, b"100 blocks\n"), f"status and output with {options}; stderr: {outcome.err}")
        outcome.tape.verify()
        equal(outcome.tape.kinds(777)["malloc"], 100, f"C blocks with {options}")


@case
def go_says_its_version_the_same(test):
    go = installed("go")
    if b"statically linked" in test.record([go, "version"]).err:
        raise Skip("this go is statically linked")
    test.same([go, "version"])


@case
def java_says_its_version_the_same(test):
    test.same([installed("java"), "-version"], forms=("record", "direct"), events=100)


if __name__ == "__main__":
    raise SystemExit(main())
