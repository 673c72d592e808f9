/**
 * Files of this process, each with one worker thread that all stores of the file share.
 *
 * `worker/` has the code of the worker thread. A call is a message to the worker, so that the thread of the service never waits for a disk.
 * If an error ends a worker, the pending calls of the worker are rejected. The next call starts a new worker.
 */
import { realpathSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { IdpError } from '../../lib/errors.js';
import { type Answer, type Call, type Calls, type Failure, type Message, threadTime, type WorkerData } from './calls.js';

interface Pending {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

/** Worker of a file, with its pending calls. */
class FileWorker {
  readonly #worker: Worker;
  readonly #pending = new Map<number, Pending>();
  readonly ended: Promise<void>;
  /** Whether the worker has opened the file. */
  isOpen = false;
  #error: unknown;
  #last = 0;

  /** @param forget is called after the worker has ended, and before its pending calls are rejected, so that no later call is sent to this worker */
  constructor(data: WorkerData, forget: (worker: FileWorker) => void) {
    // Options of the host's process, such as modules to preload, are not meant for this thread.
    this.#worker = new Worker(new URL('./worker/worker.js', import.meta.url), {
      workerData: data,
      execArgv: [],
      name: 'tenant-idp sqlite',
    });
    this.#worker.unref();
    this.#worker.on('message', (message: Message) => this.#receive(message));
    this.#worker.on('error', (error) => {
      this.#error = error;
    });
    this.ended = new Promise((resolve) => {
      this.#worker.on('exit', () => {
        const error = this.#error instanceof Error ? this.#error : new Error(`The worker thread of the file ${data.file} ended.`);
        forget(this);
        for (const { reject } of this.#pending.values()) reject(error);
        this.#pending.clear();
        resolve();
      });
    });
  }

  call<Name extends keyof Calls>(name: Name, args: Parameters<Calls[Name]>): Promise<ReturnType<Calls[Name]>> {
    return new Promise<unknown>((resolve, reject) => {
      this.#last += 1;
      // `postMessage` throws for an argument that is not plain data, so the call becomes pending only afterwards.
      this.#worker.postMessage({ id: this.#last, at: threadTime(), name, args } as unknown as Call);
      // Pending calls keep the process running, as a connection to a server does.
      if (this.#pending.size === 0) this.#worker.ref();
      this.#pending.set(this.#last, { resolve, reject });
    }) as Promise<ReturnType<Calls[Name]>>;
  }

  #receive(message: Message): void {
    if ('isOpen' in message) this.isOpen = true;
    else if ('failure' in message) this.#error = errorOf(message.failure);
    else for (const answer of message.answers) this.#settle(answer);
    if (this.#pending.size === 0) this.#worker.unref();
  }

  #settle(answer: Answer): void {
    const pending = this.#pending.get(answer.id);
    this.#pending.delete(answer.id);
    if ('failure' in answer) pending?.reject(errorOf(answer.failure));
    else pending?.resolve(answer.value);
  }
}

/** File with the number of stores that use the file. When the last of these stores is closed, the worker ends. */
class SharedFile {
  readonly #path: string;
  #users = 0;
  #worker: FileWorker | undefined;
  #wasOpen = false;

  constructor(path: string) {
    this.#path = path;
  }

  enter(): void {
    this.#users += 1;
  }

  call<Name extends keyof Calls>(name: Name, args: Parameters<Calls[Name]>): Promise<ReturnType<Calls[Name]>> {
    this.#worker ??= this.#start();
    return this.#worker.call(name, args);
  }

  async leave(): Promise<void> {
    this.#users -= 1;
    if (this.#users > 0) return;
    files.delete(this.#path);
    const worker = this.#worker;
    if (worker === undefined) return;
    worker.call('close', []).catch(() => {});
    await worker.ended;
  }

  #start(): FileWorker {
    return new FileWorker({ file: this.#path, isReopened: this.#wasOpen }, ({ isOpen }) => {
      this.#wasOpen ||= isOpen;
      this.#worker = undefined;
    });
  }
}

/** Files in use, by real path. */
const files = new Map<string, SharedFile>();

/** Use of a file by one store, from the first call of the store until the store is closed. */
export class FileUse {
  readonly #file: string;
  #shared: SharedFile | undefined;
  #isClosed = false;

  /** @param file an absolute path */
  constructor(file: string) {
    this.#file = file;
  }

  /** Sends a call to the worker. @throws the error of the call; Error if the worker ends. */
  async call<Name extends keyof Calls>(name: Name, ...args: Parameters<Calls[Name]>): Promise<ReturnType<Calls[Name]>> {
    if (this.#isClosed) throw new Error('The store was closed.');
    return this.#entered().call(name, args);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const shared = this.#shared;
    this.#shared = undefined;
    await shared?.leave();
  }

  #entered(): SharedFile {
    if (this.#shared !== undefined) return this.#shared;
    const path = realPathOf(this.#file);
    const shared = files.get(path) ?? new SharedFile(path);
    files.set(path, shared);
    shared.enter();
    this.#shared = shared;
    return shared;
  }
}

/** Returns the path without symbolic links. The file may not exist yet. */
function realPathOf(file: string): string {
  for (const path of [() => realpathSync(file), () => join(realpathSync(dirname(file)), basename(file))]) {
    try {
      return path();
    } catch {
      // The file does not exist. The worker reports a missing folder.
    }
  }
  return file;
}

function errorOf({ message, isTypeError, idp }: Failure): Error {
  if (idp !== undefined) return new IdpError(idp.code, idp.details);
  return isTypeError ? new TypeError(message) : new Error(message);
}
