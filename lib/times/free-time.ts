/**
 * Deadlines that count only the time in which this node could have read an answer. If a node was busy or stopped for longer than a deadline, the answer and
 * the end of the deadline arrive together. Node.js runs timers before it reads sockets, so an ordinary timer would mistake a healthy server for a server
 * that hangs.
 */

/** Milliseconds between two checks. One timer serves all deadlines, so a deadline may end this much late. */
const TICK_MS = 50;
/** Maximum milliseconds that count between two checks, because the node may have been busy. */
const MAX_STEP_MS = 4 * TICK_MS;

/** A wait, in a list ordered by the starts of the waits. */
export interface Waiting {
  previous: Waiting;
  next: Waiting;
  readonly since: number;
  giveUp(): void;
}

/** Waits of the same length, which are therefore in the order of their ends. */
class Queue {
  readonly #head = {} as Waiting;

  constructor(readonly milliseconds: number) {
    this.#head.previous = this.#head;
    this.#head.next = this.#head;
  }

  get isEmpty(): boolean {
    return this.#head.next === this.#head;
  }

  enter(giveUp: () => void): Waiting {
    if (timer === undefined) startLooking();
    if (this.isEmpty) queues.add(this);
    const { previous } = this.#head;
    const waiting: Waiting = { previous, next: this.#head, since: clock, giveUp };
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

/** Ends the wait. A second call does nothing, because an answer may come after the deadline. */
export function leave(waiting: Waiting): void {
  const { previous, next } = waiting;
  previous.next = next;
  next.previous = previous;
  waiting.previous = waiting;
  waiting.next = waiting;
}

/** Queues with at least one wait. */
const queues = new Set<Queue>();
let clock = 0;
let lookedAt = 0;
let timer: NodeJS.Timeout | undefined;

/** Returns the milliseconds for which this node was free while there were waits. */
export const freeTime = (): number => clock;

/** Returns a queue of waits of this many milliseconds each. Share a queue between waits of the same length, because sharing costs least. */
export const deadlineAfter = (milliseconds: number): Pick<Queue, 'enter' | 'milliseconds'> => new Queue(milliseconds);

function look(): void {
  const now = performance.now();
  clock += Math.min(now - lookedAt, MAX_STEP_MS);
  lookedAt = now;
  for (const queue of queues) {
    queue.giveUpBefore(clock);
    if (queue.isEmpty) queues.delete(queue);
  }
  if (queues.size > 0) return;
  clearInterval(timer);
  timer = undefined;
}

/**
 * Starts the checks of the clock. Node.js reads sockets between a timer and the immediate that the timer sets. Answers that arrived in between are
 * therefore seen first.
 */
function startLooking(): void {
  lookedAt = performance.now();
  timer = setInterval(() => setImmediate(look), TICK_MS);
}
