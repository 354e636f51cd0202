#!/bin/sh
# Crash loops. As root, for the mounts:
#
#   crash.sh kill  BENCH STORE ROUNDS [bench flags]   kill -9 at a random moment
#   crash.sh power BENCH STORE ROUNDS [bench flags]   keep only what is on disk
#   crash.sh full  BENCH STORE                        fill the file system
#   crash.sh eio   BENCH STORE                        one failing sync, by strace
#
# "power" works on an ext4 of its own on a loop device. It stops the process and
# copies the image: what the page cache holds and nobody synced is not in there.
# The copy is what a power cut leaves. Nothing writes while it is taken, since a
# round is shorter than the kernel's 30 s and the journal commits only on fsync.
set -u
mode=$1 bench=$2 store=$3 rounds=${4:-1}
[ $# -ge 4 ] && shift 4 || shift 3
tmp=$(mktemp -d) fs=$tmp/fs
export CRASH_LOG=$tmp/promises
mkdir "$fs" && : >"$CRASH_LOG"

mounted() { [ "$mode" = power ] || [ "$mode" = full ]; }
if mounted; then
	size=2G
	[ "$mode" = full ] && size=400M
	truncate -s $size "$tmp/image" && mkfs.ext4 -q -m 0 -E lazy_itable_init=0,lazy_journal_init=0 "$tmp/image" && mount -o loop,commit=900 "$tmp/image" "$fs" || exit 1
fi
mkdir -p "$fs/data"
trap 'mounted && umount "$fs"; rm -rf "$tmp"' EXIT

nap() { sleep "$(shuf -i 0-3 -n 1).$(shuf -i 200-900 -n 1)"; }
case $mode in
kill | power)
	broken=0
	for round in $(seq "$rounds"); do
		"$bench" "$@" -store "$store" -dir "$fs/data" write >>"$CRASH_LOG" 2>>"$tmp/errors" &
		pid=$!
		nap
		if [ "$mode" = power ]; then
			kill -STOP $pid && sleep 0.05 # let a sync that is under way end
			cp --sparse=always "$tmp/image" "$tmp/left"
		fi
		kill -9 $pid
		wait $pid 2>/dev/null
		if [ "$mode" = power ]; then
			umount "$fs" && mv "$tmp/left" "$tmp/image" && mount -o loop,commit=900 "$tmp/image" "$fs" || exit 1
		fi
		"$bench" -store "$store" -dir "$fs/data" check >"$tmp/check" 2>&1
		grep -q 'broken promises 0$' "$tmp/check" || { broken=$((broken + 1)); echo "round $round:"; head -2 "$tmp/check"; }
	done
	echo "$mode $store $*: $rounds rounds, $broken with broken promises; last: $(tail -1 "$tmp/check")"
	;;
full)
	# Leave 120 MB, and let the program free the rest once it has failed.
	free=$(df --output=avail -m "$fs" | tail -1)
	fallocate -l $((free - 120))M "$fs/ballast"
	timeout 120 "$bench" -store "$store" -dir "$fs/data" fullfs 2>&1 | cut -c-200 | uniq -c -w 40 | head -20
	rm -f "$fs/ballast"
	echo "reopened after space was freed:"
	timeout 60 "$bench" -store "$store" -dir "$fs/data" idle 2>&1 | head -5
	;;
eio)
	timeout 60 strace -qq -f -o /dev/null -e trace=fdatasync,fsync,msync -e inject=fdatasync,fsync,msync:error=EIO:when=200 \
		"$bench" -store "$store" -dir "$fs/data" fullfs 2>&1 | cut -c-200 | uniq -c -w 40 | head -20
	;;
esac
