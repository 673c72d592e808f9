/** Readers of a strictly parsed tree, which has only elements, attributes and text. */
import { MalformedXml } from './malformed.js';

const ELEMENT = 1;
const TEXT = 3;

export const isNamed = (element: Element, namespace: string, name: string): boolean =>
  element.namespaceURI === namespace && element.localName === name;

/** Returns the child elements. */
export function elementsOf(element: Element): Element[] {
  const elements: Element[] = [];
  for (let node = element.firstChild; node; node = node.nextSibling) if (node.nodeType === ELEMENT) elements.push(node as Element);
  return elements;
}

/** Returns the child elements of a name. */
export const children = (element: Element, namespace: string, name: string): Element[] =>
  elementsOf(element).filter((child) => isNamed(child, namespace, name));

/** Returns the only child element of a name; undefined if there is none. @throws MalformedXml `xml_structure` for two child elements of the name */
export function one(element: Element, namespace: string, name: string): Element | undefined {
  const [first, second] = children(element, namespace, name);
  if (second) throw new MalformedXml('xml_structure', name);
  return first;
}

/** Returns the only child element of a name. @throws MalformedXml `xml_structure` for none, and for two */
export function required(element: Element, namespace: string, name: string): Element {
  const child = one(element, namespace, name);
  if (!child) throw new MalformedXml('xml_structure', name);
  return child;
}

/** Checks that the child elements have only these names, in this order. @throws MalformedXml `xml_structure` */
export function ordered(element: Element, ...names: readonly (readonly [namespace: string, name: string])[]): void {
  let reached = 0;
  for (const child of elementsOf(element)) {
    const place = names.findIndex(([namespace, name]) => isNamed(child, namespace, name));
    if (place < reached) throw new MalformedXml('xml_structure', element.localName);
    reached = place;
  }
}

/** Returns the text without white space around it. @throws MalformedXml `xml_structure` if there are child elements, or no text */
export function textOf(element: Element): string {
  let text = '';
  for (let node = element.firstChild; node; node = node.nextSibling) {
    if (node.nodeType !== TEXT) throw new MalformedXml('xml_structure', element.localName);
    text += node.nodeValue ?? '';
  }
  const trimmed = collapsed(text);
  if (trimmed === '') throw new MalformedXml('xml_structure', element.localName);
  return trimmed;
}

/** Returns the value of an attribute without a prefix. */
export const attribute = (element: Element, name: string): string | undefined => element.getAttributeNode(name)?.value;

/** Returns the value of an attribute. @throws MalformedXml `xml_structure` for a missing or empty attribute */
export function requiredAttribute(element: Element, name: string): string {
  const value = attribute(element, name);
  if (!value) throw new MalformedXml('xml_structure', name);
  return value;
}

const isSpace = (char: string | undefined): boolean => char === ' ' || char === '\n' || char === '\t' || char === '\r';

/** Removes the white space of XML around a text, which is less than `trim` removes. A regular expression would take quadratic time. */
export function collapsed(value: string): string {
  let start = 0;
  let end = value.length;
  while (start < end && isSpace(value[start])) start += 1;
  while (end > start && isSpace(value[end - 1])) end -= 1;
  return value.slice(start, end);
}
