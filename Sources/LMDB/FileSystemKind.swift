import CLMDB
import Glibc

/// Distinguishes local disks from file systems on which locks and shared maps do not work.
enum FileSystemKind {
  static func type(at path: String) -> UInt32? {
    var info = statfs()
    guard statfs(path, &info) == 0 else { return nil }
    return UInt32(truncatingIfNeeded: info.f_type)
  }

  /// From Linux's `magic.h` and coreutils' `stat`. FUSE is included because `sshfs` and `gluster`
  /// cannot be distinguished from a local FUSE file system.
  static let remoteTypes: [UInt32: String] = [
    0x6969: "nfs", 0x517B: "smb", 0xFF53_4D42: "cifs", 0xFE53_4D42: "smb2", 0x0102_1997: "9p",
    0x5346_414F: "afs", 0x6B41_4653: "k-afs", 0x00C3_6400: "ceph", 0x7375_7245: "coda",
    0x564C: "ncp", 0x0BD0_0BD0: "lustre", 0x4750_4653: "gpfs", 0x6573_5546: "fuse",
    0x0116_1970: "gfs2", 0x7461_636F: "ocfs2", 0x786F_4256: "vboxsf", 0xBACB_ACBC: "vmhgfs",
    0x7C7C_6673: "prl_fs", 0x2003_0528: "orangefs", 0x1983_0326: "beegfs", 0xAAD7_AAEA: "panfs",
    0x6163_6673: "acfs", 0x0130_11A8: "ibrix", 0x4753_4653: "gsfs",
  ]
}
