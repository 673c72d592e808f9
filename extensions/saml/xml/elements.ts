/** Reads a tree that was parsed strictly: it holds elements, attributes and text alone. */
import { MalformedXml } from './malformed.js';

const ELEMENT = 1;
const TEXT = 3;

export const isNamed = (element: Element, namespace: string, name: string): boolean =>
  element.namespaceURI === namespace && element.localName === name;

/** All elements right below it. */
export function elementsOf(element: Element): Element[] {
  const elements: Element[] = [];
  for (let node = element.firstChild; node; node = node.nextSibling) if (node.nodeType === ELEMENT) elements.push(node as Element);
  return elements;
}

/** The elements of a name right below it. */
export const children = (element: Element, namespace: string, name: string): Element[] =>
  elementsOf(element).filter((child) => isNamed(child, namespace, name));

/** The only element of a name right below it, if there is one. @throws MalformedXml `xml_structure` for two */
export function one(element: Element, namespace: string, name: string): Element | undefined {
  const [first, second] = children(element, namespace, name);
  if (second) throw new MalformedXml('xml_structure', name);
  return first;
}

/** The only element of a name right below it. @throws MalformedXml `xml_structure` for none, and for two */
export function required(element: Element, namespace: string, name: string): Element {
  const child = one(element, namespace, name);
  if (!child) throw new MalformedXml('xml_structure', name);
  return child;
}

/** Refuses all elements right below it but those of these names, in this order. @throws MalformedXml `xml_structure` */
export function ordered(element: Element, ...names: readonly (readonly [namespace: string, name: string])[]): void {
  let reached = 0;
  for (const child of elementsOf(element)) {
    const place = names.findIndex(([namespace, name]) => isNamed(child, namespace, name));
    if (place < reached) throw new MalformedXml('xml_structure', element.localName);
    reached = place;
  }
}

/** Its text without white space around it. @throws MalformedXml `xml_structure` where it holds elements, or nothing */
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

/** The value of an attribute without a prefix. */
export const attribute = (element: Element, name: string): string | undefined => element.getAttributeNode(name)?.value;

/** @throws MalformedXml `xml_structure` where there is none, or an empty one */
export function requiredAttribute(element: Element, name: string): string {
  const value = attribute(element, name);
  if (!value) throw new MalformedXml('xml_structure', name);
  return value;
}

const isSpace = (char: string | undefined): boolean => char === ' ' || char === '\n' || char === '\t' || char === '\r';

/** Without white space around it: that of XML, which is less than `trim` takes. A pattern would take the square of the length. */
export function collapsed(value: string): string {
  let start = 0;
  let end = value.length;
  while (start < end && isSpace(value[start])) start += 1;
  while (end > start && isSpace(value[end - 1])) end -= 1;
  return value.slice(start, end);
}
