/** Faults of a proxy in front of the service that a request shows. Each fault is logged once, with the received and the expected value. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from '../../logger.js';
import { isPlainHost } from '../../text/plain-host.js';
import { loggedPath } from '../requests/request-id.js';

export interface ProxyFaultsParts {
  readonly issuer: string;
  /** The path of the issuer; empty if the issuer has no path. */
  readonly mountPath: string;
  /** Returns whether a route of the service has the path below the issuer. */
  readonly isRoute: (path: string) => boolean;
  readonly logger: Pick<Logger, 'warn'>;
}

export interface ProxyFaults {
  /** Looks at a request that a route answers. */
  served(req: IncomingMessage, url: string): void;
  /** Looks at a request that no route answers. A fault is logged only if the host answers 404 too. */
  notServed(res: ServerResponse, url: string): void;
}

interface PathFault {
  readonly message: string;
  readonly action: string;
  /** Returns the path that the service would answer; undefined if the path does not have this fault. */
  expected(path: string): string | undefined;
}

/** Maximum characters of a host that is logged. */
const LONGEST_HOST = 100;

/** Returns the path for the log. A path of lower-case letters is logged whole, because none of its parts is a token. */
const shown = (path: string): string => (/^[a-z./-]{1,120}$/.test(path) ? path : loggedPath(path));

const nameOf = (host: string): string => host.replace(/:\d+$/, '').toLowerCase();

const first = (header: string | string[] | undefined): string | undefined => [header].flat()[0]?.split(',', 1)[0]?.trim();

export function createProxyFaults({ issuer, mountPath, isRoute, logger }: ProxyFaultsParts): ProxyFaults {
  const { protocol, host: ownHost, hostname } = new URL(issuer);
  const logged = new Set<string>();
  let isPathRight = mountPath === '';

  const logOnce = (fields: Readonly<Record<string, string>>, message: string): void => {
    if (logged.has(message)) return;
    logged.add(message);
    logger.warn({ ...fields, issuer }, message);
  };

  const below = (path: string): string | undefined => (path.startsWith(`${mountPath}/`) ? path.slice(mountPath.length) : undefined);
  const isServed = (path: string): boolean => isRoute(below(path) ?? '');

  const pathFaults: readonly PathFault[] = [
    {
      message: 'requests arrive without the path of the issuer, so no route answers them',
      action: 'Configure the proxy to forward the path unchanged. In nginx, write proxy_pass without a path, not even a slash.',
      // If a request with the mount path has arrived before, a request without the mount path comes from a scanner.
      expected: (path) => (!isPathRight && below(path) === undefined && isRoute(path) ? mountPath + path : undefined),
    },
    {
      message: 'requests arrive with the path of the issuer twice, so no route answers them',
      action: 'Configure the proxy to forward the path unchanged, because the proxy adds a path that the request has already.',
      expected: (path) => (mountPath !== '' && isServed(below(path) ?? '') ? below(path) : undefined),
    },
    {
      message: 'requests arrive with repeated slashes, so no route answers them',
      action: 'Configure the proxy, or the client that builds the URL, to write the URL as the discovery document has it.',
      expected(path) {
        const plain = path.replace(/\/{2,}/g, '/');
        return plain !== path && isServed(plain) ? plain : undefined;
      },
    },
  ];

  return {
    served({ headers }, url) {
      isPathRight ||= url.startsWith(`${mountPath}/`);
      if (protocol === 'http:' && first(headers['x-forwarded-proto']) === 'https')
        logOnce(
          { came: 'https', expected: 'http', action: 'Set the option issuer to the https URL, because URLs and cookies follow it.' },
          'requests arrive by https, and the issuer is an http URL, so the service sends browsers and clients to http',
        );
      const forwarded = first(headers['x-forwarded-host']);
      // If there is no header of a proxy, and no TLS, the browser itself wrote the host.
      const host = forwarded ?? (protocol === 'http:' && headers['x-forwarded-for'] === undefined ? headers.host : undefined);
      if (host === undefined || host === ownHost || nameOf(host) === hostname) return;
      // A text from an unknown sender must not reach the log.
      if (host.length <= LONGEST_HOST && isPlainHost(host.toLowerCase()))
        logOnce(
          {
            came: host,
            expected: ownHost,
            action: 'Use the host of the issuer in the browser, or set the option issuer to the host that browsers use.',
          },
          'requests arrive for another host than the host of the issuer, so the service sends browsers and clients to the host of the issuer',
        );
    },
    notServed(res, url) {
      const path = url.split('?', 1)[0] as string;
      for (const { message, action, expected: expectedOf } of pathFaults) {
        const expected = logged.has(message) ? undefined : expectedOf(path);
        if (expected === undefined) continue;
        const log = () => res.statusCode === 404 && logOnce({ came: shown(path), expected: shown(expected), action }, message);
        res.once('finish', log);
        return;
      }
    },
  };
}
