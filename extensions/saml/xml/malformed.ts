/** Reasons why a document is malformed. Messages of these errors never contain text of the document. */

export const malformations = {
  xml_encoding: 'The document is not UTF-8, or declares another encoding. Send UTF-8.',
  xml_too_long: 'The document is too long. Send a shorter document.',
  xml_too_complex: 'The document has too many elements and attributes, or its elements are nested too deep. Send a simpler document.',
  xml_forbidden_construct:
    'The document has a DTD, an entity, a comment, a CDATA section or a processing instruction. Send the document without these constructs.',
  xml_not_well_formed: 'The document is not well-formed XML with namespaces. Correct the document.',
  xml_duplicate_id: 'Two elements of the document have the same ID. Give each element its own ID.',
  xml_structure: 'An element is missing, misplaced or duplicate, or has an invalid value. Correct the element that `place` names.',
} as const;

export type Malformation = keyof typeof malformations;

export class MalformedXml extends Error {
  override readonly name = 'MalformedXml';
  /** @param place names the element or attribute in the reader's own words, never in text of the document */
  constructor(
    readonly reason: Malformation,
    readonly place?: string,
  ) {
    super(place === undefined ? malformations[reason] : `${malformations[reason]} (${place})`);
  }
}
