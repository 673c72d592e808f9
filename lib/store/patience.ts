/**
 * How long a store is waited for, so that a request is answered in 1.5 s whatever its stores do, unless several calls before the one that hangs
 * were slow as well. One timer serves all calls: one for each would cost as much as a store that is near. So an end comes up to {@link TICK}
 * early, and as late as the process is busy.
 */

/** Milliseconds for an answer. */
const PATIENCE = 1000;
/**
 * Milliseconds while a store owes one: a request whose first call was given up and that asks again is answered in time all the same, and a store
 * that hangs does not keep every request for the whole of {@link PATIENCE}. Any answer ends the doubt, a late one too.
 */
const DOUBT = 250;
/** Milliseconds between two looks. */
const TICK = 50;

/** A call that has no answer yet, between those that began before and after it. */
interface Waiting {
  previous: Waiting;
  next: Waiting;
  readonly since: number;
  giveUp(): void;
}

/** Waiters that all have the same time, so in the order of their ends. */
class Queue {
  readonly #head = {} as Waiting;

  constructor(readonly milliseconds: number) {
    this.#head.previous = this.#head;
    this.#head.next = this.#head;
  }

  get isEmpty(): boolean {
    return this.#head.next === this.#head;
  }

  enter(since: number, giveUp: () => void): Waiting {
    const { previous } = this.#head;
    const waiting: Waiting = { previous, next: this.#head, since, giveUp };
    previous.next = waiting;
    this.#head.previous = waiting;
    return waiting;
  }

  giveUpBefore(now: number): void {
    for (let waiting = this.#head.next; waiting !== this.#head && waiting.since + this.milliseconds <= now; waiting = this.#head.next) {
      leave(waiting);
      waiting.giveUp();
    }
  }
}

/** Does nothing the second time: a late answer comes after its end. */
function leave(waiting: Waiting): void {
  const { previous, next } = waiting;
  previous.next = next;
  next.previous = previous;
  waiting.previous = waiting;
  waiting.next = waiting;
}

const patient = new Queue(PATIENCE);
const doubtful = new Queue(DOUBT);

/** Milliseconds that this process was there to see an answer: what it was stopped or too busy for is not the store's delay. */
let clock = 0;
let lookedAt = 0;
let timer: NodeJS.Timeout | undefined;

function look(): void {
  const now = performance.now();
  clock += Math.min(now - lookedAt, 4 * TICK);
  lookedAt = now;
  if (patient.isEmpty && doubtful.isEmpty) {
    clearInterval(timer);
    timer = undefined;
    return;
  }
  patient.giveUpBefore(clock);
  doubtful.giveUpBefore(clock);
}

function startLooking(): void {
  lookedAt = performance.now();
  timer = setInterval(look, TICK);
}

/** How long the stores of one service are waited for. */
export class Patience {
  /** Stores that owe an answer. A request may need several, so one in doubt shortens the time of all. */
  readonly #doubted = new Set<object>();
  /** When a doubt last ended: what began before and is given up after it says nothing new of a store that is slow and not away. */
  #endedAt = -1;

  /**
   * The outcome of a call; of one that is not answered in time, a `TimeoutError`.
   * @param store whichever object stands for it.
   * @param explain makes the error of what went wrong; what it leaves as it is counts as an answer.
   * @param isProbe for a call that asks after this store alone: the others' doubt does not shorten it.
   */
  wait<T>(store: object, call: () => Promise<T>, explain: (error: unknown) => unknown, isProbe = false): Promise<T> {
    return new Promise((resolve, reject) => {
      if (timer === undefined) startLooking();
      const queue = this.#doubted.size > 0 && !isProbe ? doubtful : patient;
      const began = clock;
      const waiting = queue.enter(began, () => {
        if (queue === patient || began > this.#endedAt) this.#doubted.add(store);
        reject(explain(new DOMException(`No answer after ${queue.milliseconds} ms`, 'TimeoutError')));
      });
      const answered = (): void => {
        if (this.#doubted.size > 0 && this.#doubted.delete(store)) this.#endedAt = clock;
      };
      const failed = (error: unknown): void => {
        leave(waiting);
        const explained = explain(error);
        if (explained === error) answered();
        reject(explained);
      };
      try {
        call().then((value) => {
          leave(waiting);
          answered();
          resolve(value);
        }, failed);
      } catch (error) {
        failed(error);
      }
    });
  }
}
