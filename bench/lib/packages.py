"""What measuring needs: Debian's packages, the measuring clients, and the peers that come from npm."""
import json
import os
import pathlib
import shutil
import subprocess

from .cluster import HERE, say

DEBIAN = ["g++", "libpq-dev", "postgresql-15-pgq3", "python3-matplotlib", "python3-psycopg"]
# The newest version of each that runs on the machine's Node.js; the statements in bench/peers are theirs.
NPM = {"graphile-worker": ("0.17.3", 14), "pg-boss": ("10.4.2", 20)}


def install_debian():
    """Installs what is missing; asks nothing of the network when nothing is."""
    wanted = DEBIAN + ([] if shutil.which("node") and shutil.which("npm") else ["nodejs", "npm"])
    missing = [name for name in wanted if subprocess.run(
        ["dpkg-query", "-W", "-f=${db:Status-Abbrev}", name], capture_output=True, text=True, check=False
    ).stdout[:2] != "ii"]
    if not missing:
        return
    say(f"installing: {' '.join(missing)}")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["apt-get", "update", "-q"],
                    ["apt-get", "install", "-q", "-y", "--no-install-recommends", *missing]):
        ran = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
        if ran.returncode:
            raise RuntimeError(f"{' '.join(command)}: {ran.stderr[-2000:]}")


def build_client(folder, name):
    """Compiles a measuring client into the folder."""
    program = pathlib.Path(folder) / name
    if not program.exists():
        include = subprocess.run(["pg_config", "--includedir"], capture_output=True, text=True, check=True).stdout.strip()
        subprocess.run(["g++", "-std=c++20", "-O2", "-Wall", "-Wextra", "-Werror", f"-I{include}",
                        HERE / "clients" / f"{name}.cpp", "-o", program, "-lpq"], check=True)
        program.chmod(0o755)
    return program


def node_version():
    ran = subprocess.run(["node", "--version"], capture_output=True, text=True, check=False)
    return ran.stdout.strip().lstrip("v")


def install_npm(folder):
    """Puts the peers into the folder. Answers their versions, and for what is not there the reason."""
    found, missing = {}, {}
    folder.mkdir()
    (folder / "package.json").write_text('{"private": true}\n', encoding="utf-8")
    node = node_version()
    for name, (version, least_node) in NPM.items():
        if int(node.split(".")[0] or 0) < least_node:
            missing[name] = f"{name} {version} needs Node.js {least_node}, and this machine has {node}"
            continue
        ran = subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--prefix", folder, f"{name}@{version}"],
                             capture_output=True, text=True, check=False)
        if ran.returncode:
            missing[name] = f"npm install {name}@{version}: {ran.stderr.strip().splitlines()[0]}"
            continue
        package = json.loads((folder / "node_modules" / name / "package.json").read_text(encoding="utf-8"))
        found[name] = package["version"]
    for reason in missing.values():
        say(f"left out: {reason}")
    return found, missing
