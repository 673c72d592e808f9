/** Admission: limits the requests that are processed concurrently. Admitted requests are answered in time, and no connection displaces the others. */
import type { IncomingMessage } from 'node:http';
import type { Logger } from '../logger.js';

export interface AdmissionOptions {
  /** Maximum requests that this node handles concurrently. */
  readonly requestsAtOnce: number;
  /**
   * Maximum concurrent requests of one HTTP/1 connection, which pipelines them. An HTTP/2 connection may belong to a proxy with many users.
   */
  readonly requestsAtOncePerConnection: number;
}

export interface Admission {
  /** Admits a request. @returns a function that frees the place after the answer; undefined if there is no free place. */
  enter(req: IncomingMessage): (() => void) | undefined;
}

export function createAdmission(limits: AdmissionOptions, logger: Logger): Admission {
  const { requestsAtOnce, requestsAtOncePerConnection } = limits;
  const ofConnection = new WeakMap<object, number>();
  let working = 0;
  let refused = 0;

  const refuse = (): undefined => {
    if (refused === 0) logger.warn({ requestsAtOnce }, 'this node refuses requests, because too many are in progress');
    refused += 1;
  };
  const finish = (): void => {
    working -= 1;
    if (refused === 0 || working > requestsAtOnce / 2) return;
    logger.info({ refused }, 'this node accepts requests again');
    refused = 0;
  };

  return {
    enter(req) {
      const connection = req.httpVersionMajor < 2 ? (req.socket as object | undefined) : undefined;
      const own = (connection && ofConnection.get(connection)) ?? 0;
      if (own >= requestsAtOncePerConnection) return undefined;
      if (working >= requestsAtOnce) return refuse();

      let isWorking = false;
      let isOver = false;
      const work = (): void => {
        if (isOver) return;
        isWorking = true;
        working += 1;
      };
      // A request whose body is still arriving takes no place. Otherwise slow senders would fill all places. A body that came with the headers has been
      // parsed.
      if (!hasBody(req) || req.complete) work();
      else process.nextTick(() => (req.complete ? work() : req.once('end', work)));
      if (connection) ofConnection.set(connection, own + 1);
      return () => {
        isOver = true;
        if (connection) ofConnection.set(connection, (ofConnection.get(connection) ?? 1) - 1);
        if (isWorking) finish();
      };
    },
  };
}

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
