"""Node and the packages of tests/javascript, if they are installed."""

import json
import os
import pathlib
import shutil
import subprocess

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "javascript"
PACKAGES = FOLDER / "node_modules"
NODE = shutil.which("node")


def missing():
    """Returns the reason why the JavaScript tests cannot run, or None if they can."""
    if not NODE:
        return "there is no node"
    oldest = int(json.loads((FOLDER / "package.json").read_text())["engines"]["node"].removeprefix(">="))
    version = subprocess.run([NODE, "--version"], capture_output=True, text=True, timeout=60, check=True).stdout.strip()
    if int(version.removeprefix("v").partition(".")[0]) < oldest:
        return f"node is {version}, and the SDKs want {oldest}"
    # npm writes the second file after everything is installed.
    wanted, installed = versions(FOLDER / "package-lock.json"), versions(PACKAGES / ".package-lock.json")
    if installed != wanted:
        return "tests/javascript/node_modules is not what the lock file says; scripts/setup installs it where npm is"
    return None


def versions(lock_file):
    """Returns the version of each package in a lock file of npm, or no versions if there is no
    file.
    """
    if not lock_file.exists():
        return {}
    return {name: package["version"] for name, package in json.loads(lock_file.read_text())["packages"].items() if name}


def environment(home):
    """Returns an environment without the user's settings for SDKs, proxies and Node."""
    meant_for_others = ("AWS_", "NODE_", "npm_", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy",
                        "all_proxy")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(meant_for_others)}
    return {**kept, "HOME": str(home), "AWS_EC2_METADATA_DISABLED": "true",
            # Suppresses the SDKs' notes about their future support of Node versions.
            "AWS_SDK_JS_SUPPRESS_MAINTENANCE_MODE_MESSAGE": "1",
            "AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED": "true"}
