/**
 * A disk that loses power: a file system of its own in a file, which its kernel stops at once, so
 * that writes without a sync are gone when it is mounted again. Data that a drive loses after it
 * reported the write is not lost here.
 *
 * Needs root, a free loop device, mkfs.ext4 and python3.
 */

import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";

const MEGABYTES = 256;

/** EXT4_IOC_SHUTDOWN with EXT4_GOING_FLAGS_NOLOGFLUSH, for which Node has no word. */
const STOP = `import fcntl, os, struct, sys
fcntl.ioctl(os.open(sys.argv[1], os.O_RDONLY), 0x8004587D, struct.pack("I", 2))`;

export class Disk {
  readonly folder: string;
  readonly #image: string;

  /** @throws Error when it cannot be made here */
  constructor(within: string) {
    this.#image = join(within, "disk.img");
    this.folder = join(within, "disk");
    mkdirSync(this.folder);
    execFileSync("truncate", ["--size", `${MEGABYTES}M`, this.#image]);
    execFileSync("mkfs.ext4", ["-q", this.#image]);
    this.#mount();
  }

  /** Nothing reaches it any more. */
  cut(): void {
    execFileSync("python3", ["-c", STOP, this.folder]);
  }

  /** After every process that used it has ended: what was on it is there again. */
  restore(): void {
    this.unmount();
    this.#mount();
  }

  unmount(): void {
    execFileSync("umount", [this.folder]);
  }

  #mount(): void {
    execFileSync("mount", ["-o", "loop", this.#image, this.folder]);
  }
}
