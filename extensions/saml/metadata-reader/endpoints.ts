/** Endpoints of a service provider in its metadata. @see SAML Metadata §2.2.2, §2.2.3 */

import { bindingUris } from '../messages/inbound.js';
import { addressProblem } from '../service-providers/addresses.js';
import type { ServiceProviderFields } from '../service-providers/records.js';
import { attribute, children } from '../xml/elements.js';
import { ns } from '../xml/namespaces.js';
import { booleanAttribute, indexAttribute } from '../xml/values.js';
import type { Reading } from './reading.js';

type AssertionConsumerService = ServiceProviderFields['assertionConsumerServices'][number];
type SingleLogoutService = ServiceProviderFields['singleLogoutServices'][number];

const logoutBindings: ReadonlyMap<string | undefined, SingleLogoutService['binding']> = new Map([
  [bindingUris.redirect, 'redirect'],
  [bindingUris.post, 'post'],
] as const);
const MOST = 50;

/** The address in an attribute; undefined where it is none that browsers may be sent to, which is told. */
function address(reading: Reading, element: Element, name: string, path: string): string | undefined {
  const location = attribute(element, name)?.trim() ?? '';
  const problem = addressProblem(location, reading.known.production);
  if (problem === undefined) return location;
  reading.fault(`${path}/@${name}`, problem);
  return undefined;
}

/** Those by POST: a response comes by no other binding. */
export function assertionConsumerServices(reading: Reading, descriptor: Element, at: string): readonly AssertionConsumerService[] {
  const all = children(descriptor, ns.md, 'AssertionConsumerService').map((element, place) => ({
    element,
    path: `${at}/AssertionConsumerService[${place}]`,
  }));
  const posted = all.filter(({ element }) => attribute(element, 'Binding') === bindingUris.post);
  if (posted.length === 0) reading.fault(at, 'an AssertionConsumerService with the binding HTTP-POST');
  if (posted.length > MOST) reading.fault(at, `at most ${MOST} elements AssertionConsumerService with the binding HTTP-POST`);
  const taken = new Set<number>();
  const read = posted.slice(0, MOST).flatMap(({ element, path }) => {
    const url = address(reading, element, 'Location', path);
    const index = reading.part(`${path}/@index`, 'a number from 0 to 65535', () => indexAttribute(element, 'index'));
    const isDefault = reading.part(`${path}/@isDefault`, 'a boolean', () => booleanAttribute(element, 'isDefault'));
    if (index !== undefined && taken.has(index)) reading.fault(`${path}/@index`, 'an index that no other has');
    if (index !== undefined) taken.add(index);
    return url === undefined ? [] : [{ url, index, path, ...(isDefault === undefined ? {} : { isDefault }) }];
  });
  return read.map(({ index, path, ...service }) => {
    if (index !== undefined) return { ...service, index };
    let free = 0;
    while (taken.has(free)) free += 1;
    taken.add(free);
    reading.note(path, `it has no index, and is taken for ${free}`);
    return { ...service, index: free };
  });
}

/** One for each binding that a browser carries. */
export function singleLogoutServices(reading: Reading, descriptor: Element, at: string): readonly SingleLogoutService[] {
  const all = children(descriptor, ns.md, 'SingleLogoutService');
  const read = all.flatMap((element, place) => {
    const path = `${at}/SingleLogoutService[${place}]`;
    const binding = logoutBindings.get(attribute(element, 'Binding'));
    if (binding === undefined) return [];
    const url = address(reading, element, 'Location', path);
    const isElsewhere = element.hasAttribute('ResponseLocation');
    const responseUrl = isElsewhere ? address(reading, element, 'ResponseLocation', path) : undefined;
    return url === undefined ? [] : [{ binding, url, ...(responseUrl === undefined ? {} : { responseUrl }) }];
  });
  if (all.length > 0 && read.length === 0)
    reading.note(at, 'it has no SingleLogoutService with the binding HTTP-Redirect or HTTP-POST, and is not told of sign-outs');
  return read.filter(({ binding }, place) => read.findIndex((other) => other.binding === binding) === place);
}
