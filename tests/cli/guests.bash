# SPDX-License-Identifier: GPL-2.0-or-later
# Two kernels that cannot boot and a QEMU that plays their guest: `kdelta vm` without a VM.
# Where there is a /dev/kvm, too, the guests are emulated ones.
export FAKE_QEMU_AGENT=$build/kdelta-agent KDELTA_KVM=/nonexistent

OLD_ID=$(printf 'a1%.0s' {1..20})
NEW_ID=$(printf 'b2%.0s' {1..20})

# guests_here FOLDER: the kernels "old" and "new" in it, its store; goes there.
guests_here()
{
	cd "$1"
	export KDELTA_STORE=$1/store.db
	[ -f old ] || "$tests/vm/make-kernel" old 6.1.0-old '#1 SMP old build' "$OLD_ID"
	[ -f new ] || "$tests/vm/make-kernel" new 6.1.0-new '#1 SMP new build' "$NEW_ID"
}

# fake_vm OPTION... KERNEL...
fake_vm()
{
	kdelta vm --qemu "$tests/vm/fake-qemu" -w mock:place=same --invocations 1 "$@"
}
