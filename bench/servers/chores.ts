/**
 * Work that a measurement needs in a contestant's process, without counting, because no client can do this work. The work is requested over HTTP, below
 * `/bench`.
 */
import type { RequestListener } from 'node:http';

export interface Chores {
  /** Creates this many persons, with names by {@link callerName}. */
  people(count: number): Promise<void>;
  /** Approves the request for the person. */
  approve(userName: string, authReqId: string): Promise<void>;
}

export const callerName = (index: number): string => `caller-${index}@acme.test`;

export const chorePaths = {
  people: (count: number) => `/bench/people?${new URLSearchParams({ count: String(count) })}`,
  approve: (userName: string, authReqId: string) => `/bench/approve?${new URLSearchParams({ userName, authReqId })}`,
} as const;

/** @param listener serves all other requests. */
export const withChores =
  (listener: RequestListener, chores: Chores): RequestListener =>
  (req, res) => {
    if (!req.url?.startsWith('/bench/')) return listener(req, res);
    const { pathname, searchParams } = new URL(req.url, 'http://contestant');
    const member = (name: string): string => searchParams.get(name) ?? '';
    const done =
      pathname === '/bench/people' ? chores.people(Number(member('count'))) : chores.approve(member('userName'), member('authReqId'));
    done.then(
      () => res.writeHead(204).end(),
      (error) => res.writeHead(500).end(String(error)),
    );
  };
