/** Host of clients' request objects and key sets. */
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll } from '@jest/globals';

export interface DocumentHost {
  readonly url: string;
  /** Host and port, for `outgoing.allowHosts`. */
  readonly address: string;
  /** Paths that were asked for in this test. */
  readonly asked: readonly string[];
  /** Maximum of concurrent requests in this test. */
  readonly mostUnderWay: number;
  /** Sets the listener for all later requests. */
  answerBy(listener: RequestListener): void;
}

/** Starts a host for the tests of a file, or of the `describe` around the call. */
export function useDocumentHost(): DocumentHost {
  let answer: RequestListener = (_request, response) => void response.end();
  let asked: string[] = [];
  let underWay = 0;
  let mostUnderWay = 0;
  const server = createServer((request, response) => {
    asked.push(request.url ?? '');
    underWay += 1;
    mostUnderWay = Math.max(mostUnderWay, underWay);
    response.on('close', () => {
      underWay -= 1;
    });
    void answer(request, response);
  });
  server.keepAliveTimeout = 0; // a busy process would end a connection while a request is on its way
  beforeAll(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)));
  afterEach(() => {
    asked = [];
    mostUnderWay = 0;
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = () => `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    get url() {
      return `http://${address()}`;
    },
    get address() {
      return address();
    },
    get asked() {
      return asked;
    },
    get mostUnderWay() {
      return mostUnderWay;
    },
    answerBy(listener) {
      answer = listener;
    },
  };
}
