/** Entry of the worker thread, which has the connection to a file. */
import { parentPort, receiveMessageOnPort, Worker, workerData } from 'node:worker_threads';
import type { Call, CallsOf, Message, Reads, Service, WorkerData, Writes } from '../calls.js';
import { ArtifactTable } from './artifact-table.js';
import { Batches } from './batches.js';
import { CountersAndLeases } from './counters.js';
import { createFile, Database, Place } from './database.js';
import { failureOf, notReopened, unfit } from './failures.js';
import { type FileLock, lockFile } from './file-lock.js';
import { Registry } from './registry.js';
import { RowTable } from './row-table.js';
import { Sweep } from './sweep.js';

/**
 * Pages of the log from which this thread completes a checkpoint itself. Otherwise SQLite could never write the log from its start again under constant
 * load.
 */
const LONG_LOG = 4000;

/** Milliseconds between two checkpoints in this thread. */
const CHECKPOINT_MS = 1000;

/** Milliseconds between two checks that the file, its log and its lock have not been moved or removed. */
const PLACE_CHECK_MS = 1000;

/** Open file. */
class OpenFile {
  readonly database: Database;
  readonly batches: Batches;
  readonly registry: Registry;
  readonly #lock: FileLock;
  readonly #sweep: Sweep;
  readonly #stopCheckpoints: () => Promise<unknown>;
  readonly #places: NodeJS.Timeout;

  constructor({ file, isReopened }: WorkerData, lock: FileLock) {
    this.#lock = lock;
    this.database = new Database(file, isReopened);
    const artifacts = new ArtifactTable(this.database);
    const counters = new CountersAndLeases(this.database);
    this.registry = new Registry(this.database);
    const rows = new RowTable(this.database, this.registry);
    this.batches = new Batches(this.database, readsOf(artifacts, rows), writesOf(artifacts, counters, rows), (answers) =>
      post({ answers }),
    );
    this.#sweep = new Sweep(this.database);
    this.#stopCheckpoints = this.database.maySplitCheckpoints() ? checkpointBeside(this.database) : checkpointBetweenCalls(this.database);
    // The log exists, because the tables were read. If another program removes the log, this thread ends, and copies the pages of the log into the file.
    const places = [this.database.place, new Place(`${file}-wal`), lock.place];
    // The error of a check ends this thread, and rejects the calls of the stores.
    this.#places = setInterval(() => {
      for (const place of places) place.check();
    }, PLACE_CHECK_MS);
  }

  readonly close = async (): Promise<void> => {
    this.#sweep.stop();
    clearInterval(this.#places);
    await this.#stopCheckpoints();
    // When the last connection closes, SQLite copies the log into the file, and removes the log.
    this.database.close();
    this.#lock.close();
  };
}

/** Starts the thread that copies the log into the file. @returns a function that ends the thread */
function checkpointBeside(database: Database): () => Promise<unknown> {
  const thread = new Worker(new URL('./checkpointer.js', import.meta.url), { workerData: database.file, execArgv: [] });
  thread.on('message', (pages: number) => pages >= LONG_LOG && database.checkpoint());
  return () => thread.terminate();
}

/**
 * Starts a timer that copies the log into the file in this thread, with an older version of SQLite. Calls wait during each copy.
 * @returns a function that stops the timer
 */
function checkpointBetweenCalls(database: Database): () => Promise<unknown> {
  const timer = setInterval(() => {
    try {
      database.checkpoint();
    } catch {
      // The calls of the stores detect the same outage.
    }
  }, CHECKPOINT_MS);
  return async () => clearInterval(timer);
}

const readsOf = (artifacts: ArtifactTable, rows: RowTable): Reads => ({
  readArtifacts: (requests) => artifacts.read(requests),
  listByAccount: (account) => artifacts.listByAccount(account),
  getRow: (collection, id) => rows.get(collection, id),
  findRows: (collection, page) => rows.find(collection, page),
  rangeOfRows: (collection, range) => rows.range(collection, range),
});

const writesOf = (artifacts: ArtifactTable, counters: CountersAndLeases, rows: RowTable): Writes => ({
  commitArtifacts: (writes) => artifacts.commit(writes),
  hit: (counter, window, by) => counters.hit(counter, window, by),
  lease: (name, holder, ttl) => counters.lease(name, holder, ttl),
  insertRow: (collection, id, row) => rows.insert(collection, id, row),
  putRow: (collection, id, row) => rows.put(collection, id, row),
  replaceRow: (collection, id, row, version) => rows.replace(collection, id, row, version),
  removeRow: (collection, id, version) => rows.remove(collection, id, version),
});

const port = parentPort as NonNullable<typeof parentPort>;
const { file, isReopened } = workerData as WorkerData;
let opened: OpenFile | undefined;
let isClosing = false;
/** Calls that wait until the file is open. */
let waiting: Call[] = [];

const post = (message: Message): void => port.postMessage(message);

async function open(): Promise<void> {
  try {
    if (!isReopened) createFile(file);
    opened = new OpenFile({ file, isReopened }, await lockFile(file, () => isClosing));
  } catch (error) {
    const refusal = isReopened ? notReopened(file, error) : unfit(file, error);
    post({ failure: failureOf(isClosing ? error : refusal, file) });
    process.exit();
  }
  post({ isOpen: true });
  take(waiting, opened);
  waiting = [];
}

/**
 * Runs calls, or queues them until the file is open. Only `health` is answered before the file is open, because a start may wait long for another process.
 */
function receive(calls: readonly Call[]): void {
  isClosing ||= calls.some(({ name }) => name === 'close');
  if (opened !== undefined) {
    take(calls, opened);
    return;
  }
  for (const call of calls) {
    if (call.name === 'health') post({ answers: [{ id: call.id, value: undefined }] });
    else waiting.push(call);
  }
}

/** Runs the calls about rows and records together, then the calls about the file. */
function take(calls: readonly Call[], file: OpenFile): void {
  const data: (CallsOf<Reads> | CallsOf<Writes>)[] = [];
  const service: CallsOf<Service>[] = [];
  for (const call of calls) {
    if (call.name === 'open' || call.name === 'health' || call.name === 'close') service.push(call);
    else data.push(call);
  }
  file.batches.run(data);
  for (const call of service) void serve(call, file);
}

async function serve(call: CallsOf<Service>, { database, registry, close }: OpenFile): Promise<void> {
  const { id } = call;
  try {
    if (call.name === 'open') await registry.open(...call.args);
    else if (call.name === 'health') database.checkReadable();
    else await close().finally(() => process.exit());
    post({ answers: [{ id, value: undefined }] });
  } catch (error) {
    post({ answers: [{ id, failure: failureOf(error, file) }] });
  }
}

port.on('message', (first: Call) => {
  const calls = [first];
  for (let next = receiveMessageOnPort(port); next !== undefined; next = receiveMessageOnPort(port)) calls.push(next.message as Call);
  receive(calls);
});
void open();
