/** Readers of XML Schema values in SAML. @see XML Schema Part 2 §3.2, §3.3 */
import { attribute, collapsed } from './elements.js';
import { MalformedXml } from './malformed.js';

const booleans: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['1', true],
  ['false', false],
  ['0', false],
]);

/** Returns an `xs:boolean`; undefined without the attribute. @throws MalformedXml `xml_structure` */
export const booleanAttribute = (element: Element, name: string): boolean | undefined =>
  read(element, name, (value) => booleans.get(value));

/** Returns an `xs:unsignedShort`, such as the index of an endpoint. @throws MalformedXml `xml_structure` */
export const indexAttribute = (element: Element, name: string): number | undefined =>
  read(element, name, (value) => (/^\+?0*[0-9]{1,5}$/.test(value) && Number(value) <= 65_535 ? Number(value) : undefined));

/** Returns an `xs:dateTime` in milliseconds since the epoch. @throws MalformedXml `xml_structure` */
export const instantAttribute = (element: Element, name: string): number | undefined => read(element, name, instantOf);

/**
 * Parses an `xs:dateTime` into milliseconds since the epoch. An instant without a time zone is UTC, because SAML allows no other time zone.
 * @see SAML Core §1.3.3
 */
export function instantOf(value: string): number | undefined {
  const [, date, time, fraction = '', zone = 'Z'] =
    /^([0-9]{4}-[0-9]{2}-[0-9]{2})T([0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]{1,20}))?(Z|[+-][0-9]{2}:[0-9]{2})?$/.exec(value) ?? [];
  if (date === undefined || time === undefined) return undefined;
  const wall = Date.parse(`${date}T${time}Z`);
  // `Date` reads a day that the month does not have as a day of the next month.
  if (Number.isNaN(wall) || new Date(wall).toISOString() !== `${date}T${time}.000Z`) return undefined;
  const [, sign, hours, minutes] = /^([+-])([0-9]{2}):([0-9]{2})$/.exec(zone) ?? [];
  if (Number(hours ?? 0) > 14 || Number(minutes ?? 0) > 59) return undefined;
  const offset = (Number(hours ?? 0) * 60 + Number(minutes ?? 0)) * 60_000 * (sign === '-' ? -1 : 1);
  return wall - offset + Number(fraction.slice(0, 3).padEnd(3, '0'));
}

function read<Value>(element: Element, name: string, parse: (value: string) => Value | undefined): Value | undefined {
  const written = attribute(element, name);
  if (written === undefined) return undefined;
  const value = parse(collapsed(written));
  if (value === undefined) throw new MalformedXml('xml_structure', name);
  return value;
}
