// node wasi.mjs PROGRAM ARGUMENTS...: a WASI program in the directory it is started from.
import { readFileSync } from 'node:fs';
import { WASI } from 'node:wasi';
const [program, ...rest] = process.argv.slice(2);
const wasi = new WASI({ version: 'preview1', args: [program, ...rest], env: process.env,
                        preopens: { '.': '.' } });
const instance = await WebAssembly.instantiate(await WebAssembly.compile(readFileSync(program)),
                                               wasi.getImportObject());
process.exit(wasi.start(instance));
