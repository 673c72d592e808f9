/** Endpoints of a service provider in its metadata. @see SAML Metadata §2.2.2, §2.2.3 */

import { present } from '../../../lib/extension-door.js';
import { bindingOf } from '../messages/inbound.js';
import { addressProblem } from '../service-providers/addresses.js';
import type { Fault } from '../service-providers/errors.js';
import type { ServiceProviderFields } from '../service-providers/records.js';
import { attribute, children } from '../xml/elements.js';
import { ns } from '../xml/namespaces.js';
import { indexAttribute } from '../xml/values.js';
import type { Reading } from './reading.js';

type AssertionConsumerService = ServiceProviderFields['assertionConsumerServices'][number];
type SingleLogoutService = ServiceProviderFields['singleLogoutServices'][number];

const MOST = 50;

/** Invalid parts, which are left out if a valid part remains. */
type LeftOut = Fault[];

/** Returns the address in an attribute; undefined if browsers may not be sent to it. */
function address(reading: Reading, leftOut: LeftOut, element: Element, name: string, path: string): string | undefined {
  const location = attribute(element, name)?.trim() ?? '';
  const expected = addressProblem(location, reading.context.production);
  if (expected === undefined) return location;
  leftOut.push({ path: `${path}/@${name}`, expected });
  return undefined;
}

/** Returns the index of a service. A duplicate index is left out. */
function indexOf(
  reading: Reading,
  leftOut: LeftOut,
  taken: ReadonlySet<number>,
  element: Element,
  servicePath: string,
): number | undefined {
  const path = `${servicePath}/@index`;
  const expected = 'a number from 0 to 65535 that no other endpoint has';
  const index = reading.part(path, expected, () => indexAttribute(element, 'index'), leftOut);
  if (index === undefined || !taken.has(index)) return index;
  leftOut.push({ path, expected });
  return undefined;
}

/**
 * Returns the services with the binding POST, because the service sends Responses only by POST. An invalid service is left out if a valid service remains.
 */
export function assertionConsumerServices(
  reading: Reading,
  descriptor: Element,
  descriptorPath: string,
): readonly AssertionConsumerService[] {
  const all = children(descriptor, ns.md, 'AssertionConsumerService').map((element, place) => ({
    element,
    path: `${descriptorPath}/AssertionConsumerService[${place}]`,
  }));
  const posted = all.filter(({ element }) => bindingOf(attribute(element, 'Binding')) === 'post');
  if (posted.length === 0) reading.fault(descriptorPath, 'an AssertionConsumerService with the binding HTTP-POST');
  const leftOut: LeftOut = posted.slice(MOST).map(({ path }) => ({ path, expected: `among the first ${MOST}` }));
  const taken = new Set<number>();
  const read = posted.slice(0, MOST).flatMap(({ element, path }) => {
    const url = address(reading, leftOut, element, 'Location', path);
    if (url === undefined) return [];
    const index = indexOf(reading, leftOut, taken, element, path);
    const isDefault = reading.flag(element, 'isDefault', path, leftOut);
    if (index !== undefined) taken.add(index);
    return [{ url, index, path, ...present({ isDefault }) }];
  });
  reading.leftOut(leftOut, read.length > 0);
  return read.map(({ index, path, ...service }) => {
    if (index !== undefined) return { ...service, index };
    let free = 0;
    while (taken.has(free)) free += 1;
    taken.add(free);
    reading.note(path, `it has no index, and is taken for ${free}`);
    return { ...service, index: free };
  });
}

/** Returns one service for each binding that a browser carries. An invalid service is left out, because a sign-in needs no logout service. */
export function singleLogoutServices(reading: Reading, descriptor: Element, descriptorPath: string): readonly SingleLogoutService[] {
  const all = children(descriptor, ns.md, 'SingleLogoutService');
  const leftOut: LeftOut = [];
  const read = all.flatMap((element, place) => {
    const path = `${descriptorPath}/SingleLogoutService[${place}]`;
    const binding = bindingOf(attribute(element, 'Binding'));
    if (binding === undefined) return [];
    const url = address(reading, leftOut, element, 'Location', path);
    const isElsewhere = element.hasAttribute('ResponseLocation');
    const responseUrl = isElsewhere ? address(reading, leftOut, element, 'ResponseLocation', path) : undefined;
    return url === undefined || (isElsewhere && responseUrl === undefined)
      ? []
      : [{ binding, url, ...(responseUrl !== undefined && { responseUrl }) }];
  });
  reading.leftOut(leftOut, true);
  if (all.length > 0 && read.length === 0)
    reading.note(descriptorPath, 'it has no SingleLogoutService with the binding HTTP-Redirect or HTTP-POST, and is not told of sign-outs');
  return read.filter(({ binding }, place) => read.findIndex((other) => other.binding === binding) === place);
}
