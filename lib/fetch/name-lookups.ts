/**
 * Look-ups of host names that do not occupy threads of the process. `dns.lookup` occupies one of a few threads while a name server does not answer, and
 * password hashes need these threads.
 * @see https://nodejs.org/api/dns.html#implementation-considerations
 */
import { lookup as systemLookup } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import type { LookupFunction } from 'node:net';
import { isPublicAddress } from './public-address.js';

export interface NameLookups {
  /** Look-ups of names that other parties chose: only public addresses, from DNS alone. The connection goes to the address that was checked. */
  readonly lookupPublic: LookupFunction;
  /** Look-ups of names that the operator allows: as the system resolves names, with the hosts file of the system. One name is looked up at a time. */
  readonly lookupAllowed: LookupFunction;
}

type Addresses = readonly { readonly address: string; readonly family: 4 | 6 }[];

/** Milliseconds of one query to a name server, and the number of attempts. */
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
