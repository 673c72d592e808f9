/** The schemas of OASIS and W3C, from Debian's packages `opensaml-schemas` and `xmltooling-schemas`. */
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { closeBuffer, openBuffer, readBuffer, XmlDocument, XsdValidator, xmlRegisterInputProvider } from 'libxml2-wasm';

export const schemaPackages = {
  'opensaml-schemas': '/usr/share/xml/opensaml/saml-schema-protocol-2.0.xsd',
  'xmltooling-schemas': '/usr/share/xml/xmltooling/xmldsig-core-schema.xsd',
} as const;

/** Schema that imports all schemas of the service's messages and metadata, so that the validator skips no element. */
const all = `<schema xmlns="http://www.w3.org/2001/XMLSchema">
  <import namespace="urn:oasis:names:tc:SAML:2.0:assertion" schemaLocation="saml-schema-assertion-2.0.xsd"/>
  <import namespace="urn:oasis:names:tc:SAML:2.0:protocol" schemaLocation="saml-schema-protocol-2.0.xsd"/>
  <import namespace="urn:oasis:names:tc:SAML:2.0:metadata" schemaLocation="saml-schema-metadata-2.0.xsd"/>
  <import namespace="urn:oasis:names:tc:SAML:metadata:algsupport" schemaLocation="sstc-saml-metadata-algsupport-v1.0.xsd"/>
</schema>`;

let validator: XsdValidator | undefined;

function createValidator(): XsdValidator {
  const files = new Map<string, string>();
  for (const example of Object.values(schemaPackages)) {
    const folder = join(example, '..');
    for (const file of readdirSync(folder)) files.set(file, join(folder, file));
  }
  // Schemas also name each other by URLs of W3C. The validator fetches none of these URLs.
  xmlRegisterInputProvider({
    match: (url) => files.has(basename(url)),
    open: (url) => openBuffer(readFileSync(files.get(basename(url)) ?? '')),
    read: readBuffer,
    close(file) {
      closeBuffer(file);
      return true;
    },
  });
  using schema = XmlDocument.fromString(all);
  return XsdValidator.fromDoc(schema);
}

/** Validates XML against the schemas. @throws with the first place that is invalid */
export function validate(xml: string): void {
  validator ??= createValidator();
  using document = XmlDocument.fromString(xml);
  validator.validate(document);
}
