"""Functions that the scripts share: installing packages (with a fake Debian) and running stages."""
import pathlib
import shutil
import subprocess
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Fakes: the file `installed` lists the installed packages. apt-get records its calls, and installs
# only names that are in the file `index`.
FAKE_DPKG_QUERY = """
shift 3
for name; do grep -qx "$name" installed && printf 'installed:%s ' "$name"; done
true
"""
FAKE_APT_GET = """
echo "$*" >>calls
case "$*" in
  *update*) echo new-package >>index ;;
  *install*)
    for name; do
      case $name in -* | install | DPkg*) continue ;; esac
      grep -qx "$name" index || exit 100
      echo "$name" >>installed
    done ;;
esac
"""


class Machine:
    """A folder with a PATH of its own, so that a script sees only the commands put there."""

    def __init__(self, test, **commands):
        folder = tempfile.TemporaryDirectory()
        test.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.bin = self.root / "bin"
        self.bin.mkdir()
        for tool in ("bash", "env", "grep", "mkdir", "tail", "tr", "cut", "sleep", "awk", "cat"):
            (self.bin / tool).symlink_to(shutil.which(tool))
        for name, body in commands.items():
            command = self.bin / name.replace("_", "-")
            command.write_text(f"#!{shutil.which('bash')}\n{body}", encoding="utf-8")
            command.chmod(0o755)
        for name in ("installed", "index", "calls"):
            (self.root / name).touch()

    def write(self, name, *lines):
        (self.root / name).write_text("".join(line + "\n" for line in lines), encoding="utf-8")

    def calls(self):
        return (self.root / "calls").read_text(encoding="utf-8").splitlines()

    def run(self, commands):
        script = f"set -euo pipefail\nsource '{ROOT}/scripts/packages.sh'\nsource '{ROOT}/scripts/stage.sh'\n{commands}"
        return subprocess.run(["bash", "-c", script], cwd=self.root, env={"PATH": str(self.bin)}, text=True,
                              capture_output=True, check=False)


class PackagesTest(unittest.TestCase):
    def debian(self, user_id=0, **commands):
        return Machine(self, apt_get=FAKE_APT_GET, dpkg_query=FAKE_DPKG_QUERY, id=f"echo {user_id}", **commands)

    def test_nothing_is_done_when_all_is_there(self):
        machine = self.debian(user_id=1000)
        machine.write("installed", "a", "b")
        done = machine.run("install_packages a b")
        self.assertEqual((done.returncode, done.stdout, machine.calls()), (0, "", []), done.stderr)

    def test_only_what_is_missing_is_installed(self):
        machine = self.debian()
        machine.write("installed", "a", "libab")
        machine.write("index", "b", "ab")
        done = machine.run("install_packages a b ab")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(machine.calls()), 1)
        self.assertTrue(machine.calls()[0].endswith("install --no-install-recommends b ab"), machine.calls())

    def test_the_index_is_fetched_when_it_lacks_a_package(self):
        machine = self.debian()
        done = machine.run("install_packages new-package")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([call.split()[3] for call in machine.calls()], ["install", "update", "install"])

    def test_a_package_that_does_not_exist_is_a_failure(self):
        self.assertNotEqual(self.debian().run("install_packages no-such-package").returncode, 0)

    def test_users_go_through_sudo(self):
        machine = self.debian(user_id=1000, sudo='echo sudo >>calls; exec "$@"')
        machine.write("index", "a")
        self.assertEqual(machine.run("install_packages a").returncode, 0)
        self.assertEqual(machine.calls()[0], "sudo")

    def test_without_rights_the_command_to_run_is_named(self):
        done = self.debian(user_id=1000).run("install_packages a")
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stderr, "no sudo. As root, run: apt-get .*install .* a")

    def test_other_systems_are_told_what_to_do(self):
        done = Machine(self).run("install_packages a")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("docs/dependencies.md", done.stderr)


class StageTest(unittest.TestCase):
    def test_a_good_stage_is_one_line(self):
        done = Machine(self).run("hello() { echo details; }\nstage 'say hello' hello hello\ncat build/log/hello.log")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"^ 1  say hello +\d+\.\d s\ndetails\n$")

    def test_a_long_stage_shows_signs_of_life_in_a_pipe(self):
        # The work continues until its progress was shown, however busy the machine is.
        done = Machine(self).run("""stage_seconds=0.1
            work() {
              echo '[1/9] building'
              for _ in {1..600}; do
                ! grep -q building seen || break
                sleep 0.1
              done
            }
            stage work work work >seen
            cat seen""")
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.splitlines()
        self.assertGreaterEqual(len(lines), 2)
        self.assertRegex(lines[0], r"^    work +\d+ s  \[1/9\] building$")
        self.assertRegex(lines[-1], r"^ 1  work +\d+\.\d s$")

    def test_the_pipe_ends_with_the_script(self):
        start = time.monotonic()
        done = Machine(self).run("stage_seconds=30\nstage work work sleep 0.2")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertLess(time.monotonic() - start, 10)

    def test_a_failing_command_inside_a_stage_ends_everything_and_shows_the_log(self):
        done = Machine(self).run("work() { echo before; false; echo after; }\nstage work work work\necho next")
        self.assertEqual(done.returncode, 1)
        self.assertIn("FAILED", done.stdout)
        self.assertIn("before", done.stdout)
        self.assertNotIn("after", done.stdout)
        self.assertNotIn("next", done.stdout)
        self.assertIn("build/log/work.log", done.stdout)


class UsageTest(unittest.TestCase):
    def test_an_unknown_option_is_refused_before_anything_runs(self):
        done = subprocess.run([ROOT / "scripts" / "test", "--al"], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("--all", done.stderr)


if __name__ == "__main__":
    unittest.main()
