"""What a program can see or do to its own process is the same with the recorder in it: environment, descriptors, limits,
confinement."""

import os
import re
import sys

from harness import LIBRARY, Skip, as_root, case, check, each, equal, installed, main, program
from outcome import without_crash_handler
from tape import demand


def without_pid(output):
    """The shell around the program prints its pid first: the program's group and session are that."""
    pid, _, rest = output.partition(b"\n")
    return re.sub(rb"\b" + pid + rb"\b", b"PID", rest) if pid.isdigit() else output


def under_a_shell(command):
    return [installed("sh"), "-c", 'echo $$; "$@"', "sh", *command]


@each(the_launcher="record", the_library_alone="direct")
def a_program_sees_its_process_unchanged_with(test, form):
    seen = []
    for recorded in (False, True):
        command = [program("surroundings"), "an argument", ""]
        folder = test.new_tapes_folder()
        variables = {}
        if recorded:
            command, variables = test.form(form, command, (), folder)
        if form == "direct":
            # The direct form is set inside the shell, which is not recorded itself.
            command = [installed("env"), *(f"{name}={value}" for name, value in variables.items()), *command]
            variables = {}
        outcome = test.run(under_a_shell(command), env=variables)
        equal(outcome.status, 0, "status")
        if recorded:
            check(len(test.tapes()) == 1, "it was recorded")
        text = without_crash_handler(without_pid(outcome.out))
        # The user set these; only what the recorder adds or takes away counts.
        drop = rb"variable (HEAPTAPE_\w+|LD_PRELOAD)=.*\n" if form == "direct" else rb"variable HEAPTAPE_LIBRARY=.*\n"
        seen.append((re.sub(drop, b"", text), outcome.err))
    equal(seen[1][1], seen[0][1], "stderr")
    for plain, recorded in zip(seen[0][0].splitlines(), seen[1][0].splitlines()):
        equal(recorded, plain, "line of the program's surroundings")
    equal(len(seen[1][0].splitlines()), len(seen[0][0].splitlines()), "number of lines")


@case
def a_closed_standard_descriptor_stays_closed(test):
    sh = installed("sh")
    mask = rb"(variable HEAPTAPE_LIBRARY=.*\n|group \d+ session.*\n)"
    for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
        seen = []
        for words, variables in (([program("surroundings")], {}), recorded(test, [program("surroundings")])):
            outcome = test.run([sh, "-c", f'"$@" 9>out {closed}', "sh", *words], env=variables)
            equal(outcome.status, 0, f"status with {closed}; stderr: {outcome.err}")
            seen.append(re.sub(mask, b"", without_crash_handler((test.work / "out").read_bytes())))
        equal(seen[1], seen[0], f"what the program saw with {closed}")
        check(b"descriptor 9\n" in seen[1] and len(test.tapes()) == 1, "it was recorded and saw its descriptors")


def recorded(test, command):
    return test.form("record", command, (), test.new_tapes_folder())


@each(seccomp_strict="seccomp-strict", a_seccomp_filter="seccomp-filter", closing_all_descriptors_in_a_loop="close-loop",
      closefrom="closefrom", closing_every_descriptor="close-range", no_free_descriptor="limit-files",
      no_file_growth="limit-file-size", no_more_address_space="limit-address-space", no_more_processes="limit-processes",
      an_undumpable_process="undumpable")
def recording_goes_on_through(test, mode):
    for form in ("record", "direct"):
        confined_run(test, form, [mode])


def confined_run(test, form, arguments):
    outcome = test.record([program("confinement"), *arguments], form=form)
    equal((outcome.status, outcome.out), (6, b"" if arguments[0] == "close-range" else b"done\n"),
          f"status and output ({form}); stderr: {outcome.err}")
    tape = outcome.tape
    tape.verify()
    equal(tape.kinds(900)["malloc"], 100, f"blocks made before ({form})")
    equal(tape.kinds(800)["malloc"], 1000, f"blocks made after ({form})")


@each(chroot="chroot", giving_up_root="drop-user")
def recording_goes_on_for_root_through(test, mode):
    as_root()
    for form in ("record", "direct"):
        confined_run(test, form, [mode, test.work] if mode == "chroot" else [mode])


@case
def recording_goes_on_through_chdir(test):
    for form in ("record", "direct"):
        confined_run(test, form, ["chdir", "/"])


@case
def a_relative_tape_name_is_resolved_where_the_recording_began(test):
    outcome = test.run([os.environ["HEAPTAPE"], "record", "-q", "-o", "here.tape", "--", program("confinement"), "chdir",
                        "/"], env={"HEAPTAPE_LIBRARY": LIBRARY})
    equal(outcome.status, 6, "status")
    check((test.work / "here.tape").exists(), f"the tape is in the folder heaptape ran in; stderr: {outcome.err}")


@each(little_address_space=("-v", 600000), few_descriptors=("-n", 12), no_core=("-c", 0), small_files=("-f", 2000))
def a_program_runs_as_before_under_a_limit_of(test, variant):
    option, value = variant
    bash = installed("bash")
    command = [bash, "-c", f'ulimit {option} {value} && "$@"', "bash", program("steady"), "stop", 3000]
    plain = test.run(command)
    equal(plain.status, 8, "status of the plain run")
    for form in ("record", "direct"):
        folder = test.new_tapes_folder()
        words, variables = test.form(form, [program("steady"), "stop", "3000"], (), folder)
        wrapped = [bash, "-c", f'ulimit {option} {value} && exec "$@"', "bash", "env",
                   *(f"{k}={v}" for k, v in variables.items()), *words]
        outcome = test.run(wrapped)
        equal((outcome.status, outcome.out), (plain.status, plain.out), f"status and output ({form}): {outcome.err}")


@case
def the_auxiliary_vector_is_found_behind_the_environment_whatever_was_taken_out(test):
    behind = b"the environment is behind the arguments\nthe auxiliary vector is behind the environment\n"
    options = ["--no-index", "--no-symbols", "--no-free-stacks", "--max-depth=9", "--max-tape=1G", "--on-full=drop", "--cpu"]
    for count in range(len(options) + 1):
        outcome = test.record([program("behind_environment")], options=options[:count])
        equal((outcome.status, outcome.out), (0, behind), f"what the program found with {options[:count]}")
    # Without the launcher, one to eight entries go, odd numbers of them too.
    variables = {"LD_PRELOAD": LIBRARY, "HEAPTAPE_COLLECTOR": os.environ["HEAPTAPE"], "HEAPTAPE_QUIET": "1",
                 **{f"HEAPTAPE_{number}": "x" for number in range(5)}}
    for count in range(1, len(variables) + 1):
        outcome = test.run([program("behind_environment")], env=dict(list(variables.items())[:count]))
        equal((outcome.status, outcome.out), (0, behind), f"what the program found when {count} entries were taken out")


@case
def an_odd_number_of_variables_leaves_an_empty_one_behind(test):
    preload = {"LD_PRELOAD": LIBRARY, "HEAPTAPE_COLLECTOR": os.environ["HEAPTAPE"]}
    for more, left in (({}, []), ({"HEAPTAPE_QUIET": "1"}, [b"HEAPTAPE_="])):
        outcome = test.run([program("behind_environment"), "show"], env={**preload, **more})
        ours = [line for line in outcome.out.splitlines() if line.startswith((b"LD_PRELOAD", b"HEAPTAPE_"))]
        equal(ours, left, f"variables of ours that the program sees with {more}")


@each(the_address_space="address-space", data="data")
def a_program_that_limits_its_own_memory_gets_what_it_asked_for_of(test, resource):
    test.same([program("memory_limits"), resource], forms=("record", "direct"))


@each(the_address_space="address-space", data="data")
def without_privilege_a_program_may_limit_its_own_memory_of(test, resource):
    as_root()
    nobody = [installed("setpriv"), "--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all"]
    os.chmod(test.work, 0o777)
    plain = test.run([*nobody, program("memory_limits"), resource])
    if plain.status != 0:
        raise Skip("the programs cannot be reached by another user")
    words, variables = test.form("record", [program("memory_limits"), resource], (), test.new_tapes_folder())
    outcome = test.run([*nobody, *words], env=variables)
    equal((outcome.status, outcome.out), (plain.status, plain.out), f"status and output; stderr: {outcome.err}")
    check(len(test.tapes()) == 1, "it was recorded")


@case
def a_python_that_limits_its_address_space_gets_memory(test):
    script = ("import resource; resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30)); print(len(bytearray(200 << 20)));"
              "print(resource.getrlimit(resource.RLIMIT_AS))")
    test.same([sys.executable, "-c", script], forms=("record", "direct"))


@case
def a_program_of_another_user_is_recorded_as_that_user(test):
    as_root()
    setpriv = installed("setpriv")
    os.chmod(test.work, 0o777)
    folder = test.new_tapes_folder()
    words, variables = test.form("record", [program("ends"), "status", "4"], (), folder)
    words = [setpriv, "--reuid=65534", "--regid=65534", "--clear-groups", *words]
    if test.run([setpriv, "--reuid=65534", "--regid=65534", "--clear-groups", program("ends"), "status", 4]).status != 4:
        raise Skip("the programs cannot be reached by another user")
    outcome = test.run(words, env=variables)
    equal(outcome.status, 4, f"status; stderr {outcome.err}")
    (tape,) = test.tapes()
    equal(tape.path.stat().st_uid, 65534, "the tape's owner")
    equal(tape.kinds(50)["malloc"], 10, "blocks")


@each(nothing="", another_library="libm.so.6")
def a_short_program_has_its_name_although_the_user_preloads(test, preload):
    [tape] = test.record([program("ends"), "return"], env={"LD_PRELOAD": preload}).tapes
    text = demand("info", tape.path)
    check(f"program     {os.path.realpath(program('ends'))}" in text, text)


if __name__ == "__main__":
    raise SystemExit(main())
