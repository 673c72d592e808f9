#!/usr/bin/env node
/**
 * Makes a working copy ready: installs packages and builds, if and only if they are missing or out of date.
 * Runs before `npm start` and `npm test`, maybe as the first thing after a clone, so it imports Node alone.
 *
 *   node ready.mjs          install and build what is missing or out of date
 *   node ready.mjs start    the same for the demo, after a look at its ports: nobody should wait for packages to find a port in use
 *   node ready.mjs prepack  only build, and only where the compiler is installed (npm calls it before it packs)
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { constants } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const sources = ['lib', 'adapters', 'extensions', 'examples', 'test', 'bench'];
const settings = ['tsconfig.json', 'package.json', 'package-lock.json'];

const root = fileURLToPath(new URL('.', import.meta.url));
const at = (...parts) => join(root, ...parts);
const compiler = at('node_modules', '@typescript', 'native', 'bin', 'tsc');
const stamp = at('dist', '.stamp');
const lock = at('.ready.lock');

/** Returns the text of a file, or `undefined` if there is none. */
function read(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

/** Whether node_modules holds what package-lock.json says. npm keeps its own record of the packages that npm installed last. */
function isInstalled() {
  const record = read(at('node_modules', '.package-lock.json'));
  if (record === undefined) return false;
  const installed = JSON.parse(record).packages;
  const wanted = Object.entries(JSON.parse(readFileSync(at('package-lock.json'), 'utf8')).packages);
  // The entry '' is this package. Optional packages depend on the platform.
  return wanted.every(([path, { optional, version, integrity }]) => {
    const found = installed[path];
    return path === '' || optional || (found?.version === version && found.integrity === integrity);
  });
}

/** Returns one hash over everything that the build reads. */
function fingerprint() {
  const hash = createHash('sha256');
  const inFolder = (folder) => readdirSync(at(folder), { recursive: true }).map((path) => join(folder, path));
  const files = sources.filter((folder) => existsSync(at(folder))).flatMap(inFolder);
  for (const path of [...settings, ...files.filter((file) => file.endsWith('.ts')).sort()]) {
    hash
      .update(`${path}\0`)
      .update(readFileSync(at(path)))
      .update('\0');
  }
  return hash.digest('hex');
}

const isBuilt = () => read(stamp) === fingerprint();

const say = (line) => process.stderr.write(`${line}\n`);

class Failure extends Error {}

/**
 * Runs a program in the root, with its output on stderr, because stdout belongs to the command that npm runs. The program ends when this
 * process gets a signal to end, and when npm ends, because npm forwards SIGTERM and SIGINT alone.
 */
async function run(what, program, args, options = {}) {
  const started = Date.now();
  say(`${what} (usually half a minute) …`);
  // The program gets a process group of its own, because it starts other processes.
  const child = spawn(program, args, { cwd: root, stdio: ['ignore', 2, 2], detached: process.platform !== 'win32', ...options });
  const end = (signal) => {
    try {
      process.kill(process.platform === 'win32' ? child.pid : -child.pid, signal);
    } catch {} // the program has ended
    unlock(String(process.pid));
    process.exit(128 + constants.signals[signal]);
  };
  const signals = ['SIGTERM', 'SIGINT', 'SIGHUP'];
  for (const signal of signals) process.on(signal, end);
  const parent = process.ppid;
  const look = setInterval(() => process.env.npm_lifecycle_event && process.ppid !== parent && end('SIGTERM'), 500);
  const [status, signal] = await once(child, 'close').catch((error) => [error.message]);
  clearInterval(look);
  for (const one of signals) process.off(one, end);
  if (status !== 0)
    throw new Failure(
      `${what} failed (${signal ?? (Number.isInteger(status) ? `exit code ${status}` : status)}); the lines above say why.`,
    );
  say(`${what} took ${((Date.now() - started) / 1000).toFixed(1)} s.`);
}

/** @throws Failure if another program listens on a port of the demo. The demo itself refuses values that are not ports. */
async function checkPorts() {
  const ports = { PORT: Number(process.env.PORT || 3000), RP_PORT: Number(process.env.RP_PORT || 3001) };
  for (const [variable, port] of Object.entries(ports)) {
    if (!(Number.isInteger(port) && port > 0 && port < 65_536)) continue;
    const server = createServer();
    try {
      await once(server.listen(port), 'listening');
    } catch (error) {
      if (error.code !== 'EADDRINUSE') continue;
      throw new Failure(`Port ${port} is in use. Set ${variable} to another port: ${variable}=${port + 100} npm start.`);
    }
    server.close();
    await once(server, 'close');
  }
}

async function install() {
  if (lstatSync(at('node_modules'), { throwIfNoEntry: false })?.isSymbolicLink()) {
    throw new Failure('node_modules is a link and does not match package-lock.json: run `npm ci` where it points.');
  }
  if (Number.parseInt(process.versions.node, 10) < 22) say(`Node ${process.versions.node} works; Node 22 or later is recommended.`);
  const args = ['ci', '--ignore-scripts', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error'];
  const npm = process.env.npm_execpath;
  if (npm?.endsWith('npm-cli.js')) await run('Installing packages', process.execPath, [npm, ...args]);
  else await run('Installing packages', 'npm', args, { shell: process.platform === 'win32' });
}

async function build() {
  const built = fingerprint(); // taken first, so that the next run builds edits during this build
  rmSync(at('dist'), { recursive: true, force: true });
  await run('Building', process.execPath, [compiler]);
  writeFileSync(stamp, built);
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return pid !== process.pid; // a lock with our number that we did not take: its owner has ended
  } catch (error) {
    return error.code === 'EPERM';
  }
}

/** Removes the lock of `pid`, and never the lock of another process, because its folder would not be empty. */
function unlock(pid) {
  try {
    unlinkSync(join(lock, pid));
  } catch {} // another run was faster
  try {
    rmdirSync(lock);
  } catch {} // taken by another run
}

/** Tries to take the lock, a folder with a file named after its owner. One rename creates the folder with that file, or fails. */
function tryLock() {
  const own = `${lock}.${process.pid}`;
  rmSync(own, { recursive: true, force: true });
  mkdirSync(own);
  writeFileSync(join(own, String(process.pid)), '');
  try {
    renameSync(own, lock);
    return true;
  } catch {
    rmSync(own, { recursive: true, force: true });
    return false;
  }
}

/** Runs `work` while no other run in this folder installs or builds. */
async function alone(work) {
  for (let waited = 0; !tryLock(); waited += 1) {
    const [owner] = existsSync(lock) ? readdirSync(lock) : [];
    if (owner === undefined || !isAlive(Number(owner))) unlock(owner ?? 'nobody');
    else if (waited === 0) say(`Waiting for process ${owner}, which installs or builds here (if it does not, delete .ready.lock) …`);
    else if (waited > 6000)
      throw new Failure(`Process ${owner} holds ${lock} for ten minutes; delete that folder if it does nothing here.`);
    await sleep(100);
  }
  try {
    await work();
  } finally {
    unlock(String(process.pid));
  }
}

async function main(mode) {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major < 20 || (major === 20 && minor < 19)) {
    throw new Failure(`tenant-idp needs Node 20.19 or later, better 22 or later; this is Node ${process.versions.node}.`);
  }
  if (mode === 'prepack') {
    if (existsSync(compiler)) await alone(async () => isBuilt() || build());
  } else if (!isInstalled() || !isBuilt()) {
    if (mode === 'start') await checkPorts();
    await alone(async () => {
      if (!isInstalled()) await install();
      if (!isBuilt()) await build();
    });
  }
}

main(process.argv[2]).catch((error) => {
  say(error instanceof Failure ? error.message : error.stack);
  process.exitCode = 1;
});
