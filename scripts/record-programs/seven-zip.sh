#!/bin/sh
# 7-Zip packs a file with four threads.
set -e
rm -f /tmp/numalab-recorded.7z
/usr/lib/p7zip/7za a -mx1 -mmt4 -bso0 -bsp0 /tmp/numalab-recorded.7z "$1"
rm -f /tmp/numalab-recorded.7z
