#!/usr/bin/env python3
"""Reads the scheduling domains of a real kernel on virtual machines and writes them as test data.

    capture.py VMLINUZ LABEL [SHAPE...]

For every shape below a guest with nothing but busybox boots under QEMU (no KVM needed), prints what
/sys/kernel/debug/sched/domains and the log (sched_verbose) say, and powers off. One file per shape and kernel:
LABEL-SHAPE.txt. Needs qemu-system-x86_64 and a static busybox.
"""
import os
import re
import subprocess
import sys
import tempfile

# Name: CPUs of -smp, CPUs of each node, distances. The vendor makes QEMU report caches per die.
LINE = [[10 + 10 * abs(a - b) for b in range(4)] for a in range(4)]
CUBE = [[10 if a == b else 21 if bin(a ^ b).count("1") == 1 else 31 for b in range(8)] for a in range(8)]
FLAT = lambda n, d: [[10 if a == b else d for b in range(n)] for a in range(n)]
SNC = [[10 if a == b else 12 if a // 2 == b // 2 else 21 for b in range(4)] for a in range(4)]
SHAPES = {
    "two-sockets": ("8,sockets=2,cores=2,threads=2", 4, FLAT(2, 21)),
    "two-sockets-four-llcs": ("32,sockets=2,dies=4,cores=2,threads=2", 16, FLAT(2, 32)),
    "four-nodes-two-llcs": ("16,sockets=4,dies=2,cores=2,threads=1", 4, FLAT(4, 20)),
    "line": ("8,sockets=4,cores=2,threads=1", 2, LINE),
    "cube": ("16,sockets=8,cores=2,threads=1", 2, CUBE),
    "two-nodes-per-socket": ("16,sockets=2,cores=4,threads=2", 4, SNC),
    "pair-and-one": ("12,sockets=3,cores=2,threads=2", 4, [[10, 20, 30], [20, 10, 30], [30, 30, 10]]),
    "one-node-two-llcs": ("8,sockets=1,dies=2,cores=2,threads=2", 8, FLAT(1, 0)),
}
FILES = "name flags groups_flags min_interval max_interval busy_factor imbalance_pct cache_nice_tries".split()

INIT = """#!/bin/busybox sh
/bin/busybox mount -t proc none /proc
/bin/busybox mount -t sysfs none /sys
/bin/busybox mount -t debugfs none /sys/kernel/debug
read version < /proc/version
echo "V $version"
cd /sys/kernel/debug/sched/domains
for c in cpu*; do for d in $c/domain*; do
  [ -e $d/name ] || continue
  echo "T $d"
  for f in %s; do [ -e $d/$f ] && { v=; read v < $d/$f; echo "F $f=$v"; }; done
done; done
/bin/busybox dmesg | /bin/busybox grep -E "attaching sched-domain|domain-[0-9]+: span|groups:" |
    /bin/busybox sed "s/^/D /"
echo END
/bin/busybox poweroff -f
""" % " ".join(FILES)


def initrd(folder, busybox):
    root = os.path.join(folder, "root")
    for d in ["bin", "proc", "sys", "dev"]:
        os.makedirs(os.path.join(root, d))
    subprocess.run(["cp", "-L", busybox, os.path.join(root, "bin/busybox")], check=True)
    with open(os.path.join(root, "init"), "w") as f:
        f.write(INIT)
    os.chmod(os.path.join(root, "init"), 0o755)
    out = os.path.join(folder, "initrd")
    subprocess.run(f"cd {root} && find . | {busybox} cpio -o -H newc | gzip -1 > {out}", shell=True, check=True)
    return out


def command(kernel, ird, shape):
    smp, per_node, distance = SHAPES[shape]
    args = ["qemu-system-x86_64", "-accel", "tcg", "-cpu", "max,vendor=GenuineIntel,l3-cache=on"]
    args += ["-m", f"{len(distance) * 256}M", "-smp", smp]
    for n in range(len(distance)):
        cpus = f"{n * per_node}-{n * per_node + per_node - 1}"
        args += ["-object", f"memory-backend-ram,id=m{n},size=256M"]
        args += ["-numa", f"node,nodeid={n},memdev=m{n},cpus={cpus}"]
    for a, row in enumerate(distance):
        args += [x for b, d in enumerate(row) if a != b for x in ("-numa", f"dist,src={a},dst={b},val={d}")]
    append = "console=ttyS0 quiet panic=-1 tsc=reliable sched_verbose log_buf_len=1M"
    args += ["-kernel", kernel, "-initrd", ird, "-append", append, "-display", "none", "-no-reboot"]
    return args + ["-monitor", "none", "-serial", "stdio", "-nic", "none"]


def parse(text):
    """(version, {(cpu, domain): {file: value}}) with span and groups added from the log."""
    version, found, at, cpu = "", {}, None, None
    for line in text.replace("\r", "").splitlines():
        if line.startswith("V "):
            version = line[2:]
        elif line.startswith("T "):
            c, d = re.match(r"T cpu(\d+)/domain(\d+)", line).groups()
            at = found.setdefault((int(c), int(d)), {})
        elif line.startswith("F ") and at is not None:
            name, value = line[2:].split("=", 1)
            at[name] = value.strip()
        elif line.startswith("D "):
            if m := re.search(r"CPU(\d+) attaching", line):
                cpu = int(m.group(1))
            elif m := re.search(r"domain-(\d+): span=(\S+) level=(\S+)", line):
                at = found.setdefault((cpu, int(m.group(1))), {})
                at["span"] = m.group(2)
            elif "groups:" in line:
                at["groups"] = " ".join(re.findall(r"\{ span=(\S+)", line))
    return version, found


def main():
    kernel, label, *shapes = sys.argv[1:]
    here = os.path.dirname(os.path.abspath(__file__))
    with tempfile.TemporaryDirectory() as folder:
        ird = initrd(folder, "/bin/busybox")
        for shape in shapes or SHAPES:
            args = command(kernel, ird, shape)
            done = subprocess.run(args, capture_output=True, text=True, timeout=570, errors="replace")
            if "END" not in done.stdout:
                print(f"{shape}: the guest did not finish\n{done.stdout[-2000:]}{done.stderr[-2000:]}", file=sys.stderr)
                continue
            version, found = parse(done.stdout)
            shown = " ".join(args).replace(kernel, "VMLINUZ").replace(ird, "INITRD")
            with open(os.path.join(here, f"{label}-{shape}.txt"), "w") as f:
                f.write(f"# {version}\n# {shown}\n")
                for (c, d), files in sorted(found.items()):
                    f.write(f"cpu{c}/domain{d}\n")
                    for name in FILES + ["span", "groups"]:
                        f.write(f"  {name}={files[name]}\n" if name in files else "")
            print(shape, len(found), "domains")


main()
