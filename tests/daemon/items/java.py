"""Java and the packages of tests/java, if they are installed."""

import pathlib
import re
import shutil
import subprocess

import javascript

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "java"
PACKAGES = FOLDER / "installed"
JAVA = shutil.which("java")
JAVAC = shutil.which("javac")
OLDEST = 11


def missing():
    """Returns the reason why the Java tests cannot run, or None if they can."""
    if not JAVA or not JAVAC:
        return "there is no java or no javac"
    version = subprocess.run([JAVAC, "-version"], capture_output=True, text=True, timeout=60, check=True).stdout.strip()
    if int(re.search(r"\d+", version).group(0)) < OLDEST:
        return f"the Java here is {version}, and the tests want {OLDEST}"
    # scripts/setup writes the second file after everything is installed.
    wanted, installed = FOLDER / "jars.sha256", PACKAGES / "jars.sha256"
    if not installed.exists() or installed.read_bytes() != wanted.read_bytes():
        return "tests/java/installed is not what jars.sha256 says; scripts/setup installs it where Maven is"
    return None


def environment(home):
    """Returns an environment without the user's settings for SDKs, proxies and Java."""
    return {name: value for name, value in javascript.environment(home).items()
            if not name.startswith(("JAVA_", "_JAVA_", "JDK_JAVA_", "CLASSPATH"))}


def compile_tests(folder):
    """Compiles tests/java into the folder."""
    subprocess.run([JAVAC, "--release", str(OLDEST), "-Xlint:all,-processing", "-cp", f"{PACKAGES}/*", "-d", folder,
                    *sorted(FOLDER.glob("*.java"))], check=True, timeout=300)


def command(folder):
    """Returns the command that runs the compiled cases; see tests/java/Runner.java."""
    # Options for a short start instead of high speed.
    return [JAVA, "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m", "-cp", f"{folder}:{PACKAGES}/*", "Runner"]
