# What run.sh and pictures.sh have in common. They set `here` and `root` and read this file. It needs Node.js with npm.

if ! command -v node >/dev/null 2>&1 || ! command -v npm >/dev/null 2>&1; then
    echo "the page's tests need Node.js with npm (Debian: apt-get install nodejs npm)" >&2
    exit 1
fi

# Installs the packages of a folder, once for each version of its lock file, since npm ci is slow and needs the network.
packages() {
    stamp="$1/node_modules/.installed"
    if ! cmp -s "$1/package-lock.json" "$stamp"; then
        (cd "$1" && npm ci --silent)
        cp "$1/package-lock.json" "$stamp"
    fi
}

# Prints the path of Chromium, or nothing if there is none.
browser() {
    for name in chromium chromium-browser google-chrome; do
        command -v "$name" && return
    done
    true
}

# Finds Chromium, installs it if apt-get works without asking, and exports its path. CHROMIUM names another browser. Without
# one it says so and ends with 0.
find_chromium() {
    if [ -n "${CHROMIUM:-}" ]; then
        CHROMIUM=$(command -v "$CHROMIUM") || {
            echo "CHROMIUM names no program" >&2
            exit 1
        }
    elif [ -z "$(browser)" ] && command -v apt-get >/dev/null 2>&1; then
        echo "installing chromium" >&2
        as_root=""
        [ "$(id -u)" = 0 ] || as_root="sudo -n"
        DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -q --no-install-recommends chromium >/dev/null || true
    fi
    CHROMIUM=${CHROMIUM:-$(browser)}
    if [ -z "$CHROMIUM" ]; then
        echo "$1: there is no Chromium and it cannot be installed here; name one, e.g. CHROMIUM=/opt/chrome/chrome" >&2
        exit 0
    fi
    export CHROMIUM
}
