/** Admission: limits the requests that are processed concurrently. Admitted requests are answered in time, and no connection displaces the others. */
import type { IncomingMessage } from 'node:http';
import type { Logger } from '../logger.js';
import { bodyArrival } from './requests/body-arrival.js';

export interface AdmissionOptions {
  /** Maximum requests that this node handles concurrently. */
  readonly requestsAtOnce: number;
  /**
   * Maximum concurrent requests of one HTTP/1 connection, which pipelines them. An HTTP/2 connection may belong to a proxy with many users.
   */
  readonly requestsAtOncePerConnection: number;
}

/**
 * The function that frees the place of a request, to call once after the answer. `full`: no place is free. `gone`: the client ended the request before its
 * body had arrived.
 */
export type Entry = (() => void) | 'full' | 'gone';

export interface Admission {
  /**
   * Admits a request before the service works for it. A request whose body is still arriving waits without a place, because slow senders would fill all
   * places.
   * @returns a promise only for a request whose body is still arriving
   */
  enter(req: IncomingMessage): Entry | Promise<Entry>;
}

export function createAdmission(limits: AdmissionOptions, logger: Logger): Admission {
  const { requestsAtOnce, requestsAtOncePerConnection } = limits;
  const ofConnection = new WeakMap<object, number>();
  let working = 0;
  let refused = 0;

  const refuse = (): 'full' => {
    if (refused === 0) logger.warn({ requestsAtOnce }, 'this node refuses requests, because too many are in progress');
    refused += 1;
    return 'full';
  };
  const finish = (): void => {
    working -= 1;
    if (refused === 0 || working > requestsAtOnce / 2) return;
    logger.info({ refused }, 'this node accepts requests again');
    refused = 0;
  };
  const countOf = (connection: object | undefined, by: 1 | -1): void => {
    if (connection) ofConnection.set(connection, (ofConnection.get(connection) ?? 0) + by);
  };

  function take(req: IncomingMessage, connection: object | undefined): Entry {
    if (working >= requestsAtOnce) {
      countOf(connection, -1);
      return refuse();
    }
    working += 1;
    return () => {
      countOf(connection, -1);
      finish();
      // Lets the rest of a body arrive that nobody read, because the next request of the connection follows it.
      if (!req.complete) req.resume();
    };
  }

  return {
    enter(req) {
      const connection = req.httpVersionMajor < 2 ? (req.socket as object | undefined) : undefined;
      if (connection && (ofConnection.get(connection) ?? 0) >= requestsAtOncePerConnection) return 'full';
      if (working >= requestsAtOnce) return refuse();
      countOf(connection, 1);
      const arriving = bodyArrival(req);
      if (arriving === undefined) return take(req, connection);
      return arriving.then((isHere) => {
        if (isHere) return take(req, connection);
        countOf(connection, -1);
        return 'gone';
      });
    },
  };
}
