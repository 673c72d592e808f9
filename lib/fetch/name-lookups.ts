/**
 * Host names, looked up without taking the threads of the process: `dns.lookup` holds one of a few for as long as a name server is silent, and
 * password hashes need them.
 * @see https://nodejs.org/api/dns.html#implementation-considerations
 */
import { lookup as systemLookup } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import type { LookupFunction } from 'node:net';
import { isPublicAddress } from './public-address.js';

export interface NameLookups {
  /** For names that others chose: public addresses alone, as DNS has them. The address that was checked is the one that is connected to. */
  readonly lookupPublic: LookupFunction;
  /** For names that the operator allows: whatever the system knows them as, its hosts file included; one name at a time. */
  readonly lookupAllowed: LookupFunction;
}

type Addresses = readonly { readonly address: string; readonly family: 4 | 6 }[];

/** Milliseconds of one question to a name server, and how often it is asked. */
const question = { timeout: 1000, tries: 2 };

export function createNameLookups(
  resolver: Pick<Resolver, 'resolve4' | 'resolve6'> = new Resolver(question),
  lookup: LookupFunction = systemLookup as LookupFunction,
): NameLookups {
  let lastAllowed: Promise<void> = Promise.resolve();

  async function publicAddresses(hostname: string, family: unknown): Promise<Addresses> {
    const ask = async (version: 4 | 6, answer: Promise<string[]>): Promise<Addresses> =>
      (await answer).map((address) => ({ address, family: version }));
    const answers = await Promise.allSettled([
      ...(family === 6 ? [] : [ask(4, resolver.resolve4(hostname))]),
      ...(family === 4 ? [] : [ask(6, resolver.resolve6(hostname))]),
    ]);
    const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    const failed = answers.find((answer) => answer.status === 'rejected');
    if (addresses.length === 0) throw failed?.reason ?? new Error(`${hostname} has no address`);
    if (!addresses.every(({ address }) => isPublicAddress(address))) throw new Error(`${hostname} is not at a public address`);
    return addresses;
  }

  return {
    lookupPublic(hostname, options, callback) {
      publicAddresses(hostname, options.family).then(
        (addresses) => {
          const [first] = addresses;
          if (options.all) callback(null, [...addresses]);
          else callback(null, first?.address ?? '', first?.family);
        },
        (error: Error) => callback(error, ''),
      );
    },

    lookupAllowed(hostname, options, callback) {
      const answered = (): Promise<void> =>
        new Promise((resolve) => {
          lookup(hostname, options, (...answer) => {
            resolve();
            callback(...answer);
          });
        });
      lastAllowed = lastAllowed.then(answered);
    },
  };
}
