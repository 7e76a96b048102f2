'use strict';
// The system that the tool runs on: as much of WASI as it asks for.  Files live in memory, and
// there is nothing else to reach.  One message in, { wasm } first and then { id, args, files };
// out: { id, progress } while it works, { id, code, out, err, files } at the end.

const OK = 0, EBADF = 8, EINVAL = 28, ENOENT = 44, ESPIPE = 70;
const CHARACTER_DEVICE = 2, DIRECTORY = 3, REGULAR_FILE = 4;
const ROOT = 3;                         // the one directory that programs are given

class Exit extends Error {
  constructor(code) { super('exit'); this.code = code; }
}

// A growing row of bytes.
class Bytes {
  constructor(data) { this.data = data || new Uint8Array(0); this.size = this.data.length; }
  write(at, chunk) {
    const end = at + chunk.length;
    if (end > this.data.length) {
      const more = new Uint8Array(Math.max(2 * this.data.length, end, 1024));
      more.set(this.data.subarray(0, this.size));
      this.data = more;
    }
    this.data.set(chunk, at);
    this.size = Math.max(this.size, end);
  }
  text() { return new TextDecoder().decode(this.data.subarray(0, this.size)); }
}

// The imports of a program: `memory` is asked for late, since it can grow.
function system(args, files, memory, onError) {
  const encoder = new TextEncoder();
  const view = () => new DataView(memory().buffer);
  const bytes = (at, n) => new Uint8Array(memory().buffer, at, n);
  const open = new Map();               // file descriptors
  const stream = (file) => ({ file, at: 0, stream: true });
  const output = new Bytes();
  open.set(0, stream(new Bytes()));
  open.set(1, stream(output));
  open.set(2, stream(new Bytes()));
  open.set(ROOT, { directory: true });
  const name = (at, n) => new TextDecoder().decode(bytes(at, n)).replace(/^(\.?\/)+/, '');

  // Every block of a scattered read or write; stops where `each` says so.
  function scattered(iovs, n, total, each) {
    let sum = 0;
    for (let i = 0; i < n; i++) {
      const at = view().getUint32(iovs + 8 * i, true);
      const size = view().getUint32(iovs + 8 * i + 4, true);
      const done = each(bytes(at, size));
      sum += done;
      if (done < size) break;
    }
    view().setUint32(total, sum, true);
    return OK;
  }

  function list(texts, pointers, buffer) {
    for (const text of texts) {
      const raw = encoder.encode(text + '\0');
      view().setUint32(pointers, buffer, true);
      bytes(buffer, raw.length).set(raw);
      pointers += 4;
      buffer += raw.length;
    }
    return OK;
  }

  function sizes(texts, count, size) {
    view().setUint32(count, texts.length, true);
    view().setUint32(size, encoder.encode(texts.join('\0') + '\0').length, true);
    return OK;
  }

  const calls = {
    args_sizes_get: (count, size) => sizes(args, count, size),
    args_get: (pointers, buffer) => list(args, pointers, buffer),
    environ_sizes_get: (count, size) => sizes([], count, size),
    environ_get: () => OK,
    proc_exit: (code) => { throw new Exit(code); },
    clock_time_get: (clock, precision, out) => {
      view().setBigUint64(out, BigInt(Math.round(1e6 * performance.now())), true);
      return OK;
    },
    random_get: (at, n) => { crypto.getRandomValues(bytes(at, n)); return OK; },

    fd_prestat_get: (fd, out) => {
      if (fd !== ROOT) return EBADF;
      view().setUint32(out, 0, true);
      view().setUint32(out + 4, 1, true);
      return OK;
    },
    fd_prestat_dir_name: (fd, at) => {
      if (fd !== ROOT) return EBADF;
      bytes(at, 1)[0] = 47;             // "/"
      return OK;
    },
    fd_fdstat_get: (fd, out) => {
      const f = open.get(fd);
      if (!f) return EBADF;
      bytes(out, 24).fill(0);
      // Standard error is a terminal, so that the tool shows its progress there.
      view().setUint8(out, f.directory ? DIRECTORY : fd === 2 ? CHARACTER_DEVICE : REGULAR_FILE);
      view().setBigUint64(out + 8, fd === 2 ? 64n : 0x1fffffffn, true);
      view().setBigUint64(out + 16, 0x1fffffffn, true);
      return OK;
    },
    fd_fdstat_set_flags: (fd) => (open.has(fd) ? OK : EBADF),
    fd_close: (fd) => (open.delete(fd) ? OK : EBADF),
    fd_seek: (fd, offset, whence, out) => {
      const f = open.get(fd);
      if (!f || f.directory) return EBADF;
      if (f.stream) return ESPIPE;
      const at = Number(offset) + (whence === 0 ? 0 : whence === 1 ? f.at : f.file.size);
      if (at < 0) return EINVAL;
      f.at = at;
      view().setBigUint64(out, BigInt(at), true);
      return OK;
    },
    fd_read: (fd, iovs, n, total) => {
      const f = open.get(fd);
      if (!f || f.directory) return EBADF;
      return scattered(iovs, n, total, (block) => {
        const chunk = f.file.data.subarray(f.at, Math.min(f.at + block.length, f.file.size));
        block.set(chunk);
        f.at += chunk.length;
        return chunk.length;
      });
    },
    fd_write: (fd, iovs, n, total) => {
      const f = open.get(fd);
      if (!f || f.directory) return EBADF;
      const start = f.at;
      const code = scattered(iovs, n, total, (block) => {
        if (f.append) f.at = f.file.size;
        f.file.write(f.at, block);
        f.at += block.length;
        return block.length;
      });
      if (fd === 2) onError(new TextDecoder().decode(f.file.data.subarray(start, f.at)));
      return code;
    },
    path_open: (fd, look, at, n, how, rights, inherited, flags, out) => {
      const path = name(at, n);
      if (!files.has(path) && !(how & 1)) return ENOENT;
      if (!files.has(path) || (how & 8)) files.set(path, new Bytes());
      let free = ROOT + 1;
      while (open.has(free)) free++;
      open.set(free, { file: files.get(path), at: 0, append: (flags & 1) !== 0 });
      view().setUint32(out, free, true);
      return OK;
    },
    path_filestat_get: (fd, look, at, n, out) => {
      const file = files.get(name(at, n));
      if (!file) return ENOENT;
      bytes(out, 64).fill(0);
      view().setUint8(out + 16, REGULAR_FILE);
      view().setBigUint64(out + 24, 1n, true);
      view().setBigUint64(out + 32, BigInt(file.size), true);
      return OK;
    },
    path_remove_directory: () => ENOENT,
    path_unlink_file: (fd, at, n) => (files.delete(name(at, n)) ? OK : ENOENT),
  };
  return { calls, output };
}

let module = null;

// What goes to standard error: lines that begin by a carriage return are progress, which the next
// one overwrites; the rest is kept.  Writes may cut a line anywhere.
function errors(onProgress) {
  let pending = '';
  let kept = '';
  return {
    add(text) {
      pending += text;
      for (;;) {
        const back = pending.indexOf('\r');
        const end = pending.indexOf('\x1b[K', back);
        kept += back < 0 ? pending : pending.slice(0, back);
        pending = back < 0 ? '' : pending.slice(back);
        if (back < 0 || end < 0) return;
        onProgress(pending.slice(1, end - back).trim());
        pending = pending.slice(end - back + 3);
      }
    },
    kept: () => kept,
  };
}

async function run({ id, args, files: given }) {
  const files = new Map();
  const encoder = new TextEncoder();
  for (const [path, text] of Object.entries(given || {}))
    files.set(path, new Bytes(encoder.encode(text)));
  let instance = null;
  let code = 0;
  const err = errors((progress) => postMessage({ id, progress }));
  const host = system(['mcamp', ...args], files, () => instance.exports.memory, err.add);
  instance = await WebAssembly.instantiate(module, { wasi_snapshot_preview1: host.calls });
  try {
    instance.exports._start();
  } catch (error) {
    if (!(error instanceof Exit)) throw error;
    code = error.code;
  }
  const made = {};
  for (const [path, file] of files) if (!given || !(path in given)) made[path] = file.text();
  postMessage({ id, code, out: host.output.text(), err: err.kept(), files: made });
}

let turn = Promise.resolve();
onmessage = (event) => {
  const message = event.data;
  turn = turn.then(async () => {
    try {
      if (message.wasm) module = await WebAssembly.compile(message.wasm);
      else await run(message);
    } catch (error) {
      postMessage({ id: message.id, crashed: String(error) });
    }
  });
};
