/**
 * Reports how many test files are done and how long the others take. A whole run takes minutes, and its terminal may show only a list of
 * files.
 */

/** The part of Jest's results that the reporter reads. */
interface Results {
  readonly numTotalTestSuites: number;
  readonly numPassedTestSuites: number;
  readonly numFailedTestSuites: number;
  readonly numPendingTestSuites: number;
}

/** Milliseconds between two reports. */
const INTERVAL_MS = 30_000;
/** Runs of fewer files end before a report would help. */
const FEWEST_FILES = 50;

/** Jest makes a reporter with its own settings and those of the configuration file. */
export default class Progress {
  readonly #say: (line: string) => void;
  readonly #now: () => number;
  #begunAt = 0;
  #reportedAt = 0;

  constructor(_settings: unknown, { say, now }: { readonly say?: (line: string) => void; readonly now?: () => number } = {}) {
    this.#say = say ?? ((line) => process.stderr.write(`${line}\n`));
    this.#now = now ?? Date.now;
  }

  onRunStart({ numTotalTestSuites: total }: Results): void {
    this.#begunAt = this.#now();
    this.#reportedAt = this.#begunAt;
    if (total >= FEWEST_FILES) this.#say(`Running ${total} test files. All files of this package take 10 to 15 minutes on two cores.`);
  }

  onTestResult(_test: unknown, _result: unknown, results: Results): void {
    const { numTotalTestSuites: total } = results;
    const now = this.#now();
    if (total < FEWEST_FILES || now - this.#reportedAt < INTERVAL_MS) return;
    this.#reportedAt = now;
    const done = results.numPassedTestSuites + results.numFailedTestSuites + results.numPendingTestSuites;
    // Files that take long come first, so an early estimate would be much too long.
    const minutes = Math.ceil((((now - this.#begunAt) / done) * (total - done)) / 60_000);
    const left = done < total / 5 ? '' : ` At most ${minutes} min left.`;
    this.#say(`${done} of ${total} test files are done, ${results.numFailedTestSuites} failed.${left}`);
  }
}
