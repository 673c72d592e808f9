/** Metadata in the style of products, written by hand. */

export interface Keys {
  /** Certificates, DER in base64. */
  readonly signing: string;
  readonly encryption: string;
}

const MD = 'urn:oasis:names:tc:SAML:2.0:metadata';
const DS = 'http://www.w3.org/2000/09/xmldsig#';
const SAML2 = 'urn:oasis:names:tc:SAML:2.0:protocol';
const bindings = 'urn:oasis:names:tc:SAML:2.0:bindings';
const formats = { 2: 'urn:oasis:names:tc:SAML:2.0:nameid-format', 1: 'urn:oasis:names:tc:SAML:1.1:nameid-format' };

/** Metadata with comments, `1` for true, five bindings, algorithms, several names, a discovery service. */
export const shibboleth = ({ signing, encryption }: Keys) => `<!--
This is example metadata only. Do *NOT* supply it as is without review,
and do *NOT* provide it in real time to your partners.
 -->
<md:EntityDescriptor xmlns:md="${MD}" ID="_9d3f4f" entityID="https://wiki.example/shibboleth">
  <md:Extensions xmlns:alg="urn:oasis:names:tc:SAML:metadata:algsupport">
    <alg:DigestMethod Algorithm="http://www.w3.org/2001/04/xmlenc#sha512"/>
    <alg:SigningMethod Algorithm="http://www.w3.org/2001/04/xmldsig-more#rsa-sha256"/>
  </md:Extensions>
  <md:SPSSODescriptor AuthnRequestsSigned="1" WantAssertionsSigned="1"
      protocolSupportEnumeration="${SAML2} urn:oasis:names:tc:SAML:1.1:protocol urn:oasis:names:tc:SAML:1.0:protocol">
    <md:Extensions>
      <init:RequestInitiator xmlns:init="urn:oasis:names:tc:SAML:profiles:SSO:request-init" Binding="urn:oasis:names:tc:SAML:profiles:SSO:request-init" Location="https://wiki.example/Shibboleth.sso/Login"/>
      <mdui:UIInfo xmlns:mdui="urn:oasis:names:tc:SAML:metadata:ui">
        <mdui:DisplayName xml:lang="nb">Wikien</mdui:DisplayName>
        <mdui:DisplayName xml:lang="en">The <!-- old --> wiki</mdui:DisplayName>
      </mdui:UIInfo>
    </md:Extensions>
    <md:KeyDescriptor use="signing">
      <ds:KeyInfo xmlns:ds="${DS}">
        <ds:KeyName>wiki.example</ds:KeyName>
        <ds:X509Data>
          <ds:X509SubjectName>CN=wiki.example</ds:X509SubjectName>
          <ds:X509Certificate>${(signing.match(/.{1,64}/g) ?? []).join('\n')}
</ds:X509Certificate>
        </ds:X509Data>
      </ds:KeyInfo>
    </md:KeyDescriptor>
    <md:KeyDescriptor use="encryption">
      <ds:KeyInfo xmlns:ds="${DS}"><ds:X509Data><ds:X509Certificate>${encryption}</ds:X509Certificate></ds:X509Data></ds:KeyInfo>
      <md:EncryptionMethod Algorithm="http://www.w3.org/2009/xmlenc11#aes128-gcm"/>
      <md:EncryptionMethod Algorithm="http://www.w3.org/2009/xmlenc11#aes256-gcm"/>
      <md:EncryptionMethod Algorithm="http://www.w3.org/2001/04/xmlenc#aes256-cbc"/>
      <md:EncryptionMethod Algorithm="http://www.w3.org/2009/xmlenc11#rsa-oaep"/>
      <md:EncryptionMethod Algorithm="http://www.w3.org/2001/04/xmlenc#rsa-oaep-mgf1p"/>
    </md:KeyDescriptor>
    <md:ArtifactResolutionService Binding="${bindings}:SOAP" Location="https://wiki.example/Shibboleth.sso/Artifact/SOAP" index="1"/>
    <md:SingleLogoutService Binding="${bindings}:SOAP" Location="https://wiki.example/Shibboleth.sso/SLO/SOAP"/>
    <md:SingleLogoutService Binding="${bindings}:HTTP-Redirect" Location="https://wiki.example/Shibboleth.sso/SLO/Redirect"/>
    <md:SingleLogoutService Binding="${bindings}:HTTP-POST" Location="https://wiki.example/Shibboleth.sso/SLO/POST"/>
    <md:AssertionConsumerService Binding="${bindings}:HTTP-POST" Location="https://wiki.example/Shibboleth.sso/SAML2/POST" index="1"/>
    <md:AssertionConsumerService Binding="${bindings}:HTTP-POST-SimpleSign" Location="https://wiki.example/Shibboleth.sso/SAML2/POST-SimpleSign" index="2"/>
    <md:AssertionConsumerService Binding="${bindings}:HTTP-Artifact" Location="https://wiki.example/Shibboleth.sso/SAML2/Artifact" index="3"/>
    <md:AssertionConsumerService Binding="${bindings}:PAOS" Location="https://wiki.example/Shibboleth.sso/SAML2/ECP" index="4"/>
  </md:SPSSODescriptor>
</md:EntityDescriptor>`;

/** Metadata with one key without a use, and logout by Redirect with another address for responses. */
export const mellon = ({ signing }: Keys) => `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>
<EntityDescriptor entityID="https://intranet.example/mellon/metadata" xmlns="${MD}" xmlns:ds="${DS}">
 <SPSSODescriptor AuthnRequestsSigned="true" WantAssertionsSigned="true" protocolSupportEnumeration="${SAML2}">
   <KeyDescriptor>
     <ds:KeyInfo><ds:X509Data><ds:X509Certificate>
${(signing.match(/.{1,76}/g) ?? []).join('\r\n')}
     </ds:X509Certificate></ds:X509Data></ds:KeyInfo>
   </KeyDescriptor>
   <SingleLogoutService Binding="${bindings}:HTTP-Redirect" Location="https://intranet.example/mellon/logout" ResponseLocation="https://intranet.example/mellon/logoutResponse" />
   <NameIDFormat>${formats[2]}:transient</NameIDFormat>
   <AssertionConsumerService index="0" isDefault="true" Binding="${bindings}:HTTP-POST" Location="https://intranet.example/mellon/postResponse" />
   <AssertionConsumerService index="1" isDefault="false" Binding="${bindings}:HTTP-Artifact" Location="https://intranet.example/mellon/artifactResponse" />
 </SPSSODescriptor>
</EntityDescriptor>`;

/** Metadata with encryption by CBC alone, e-mail addresses, logout by POST. */
export const nodeSaml = ({ signing, encryption }: Keys) => `<?xml version="1.0"?>
<EntityDescriptor xmlns="${MD}" xmlns:ds="${DS}" entityID="node-app" ID="node_app">
  <SPSSODescriptor protocolSupportEnumeration="${SAML2}" AuthnRequestsSigned="true">
    <KeyDescriptor use="signing">
      <ds:KeyInfo><ds:X509Data><ds:X509Certificate>${signing}</ds:X509Certificate></ds:X509Data></ds:KeyInfo>
    </KeyDescriptor>
    <KeyDescriptor use="encryption">
      <ds:KeyInfo><ds:X509Data><ds:X509Certificate>${encryption}</ds:X509Certificate></ds:X509Data></ds:KeyInfo>
      <EncryptionMethod Algorithm="http://www.w3.org/2001/04/xmlenc#aes256-cbc"/>
      <EncryptionMethod Algorithm="http://www.w3.org/2001/04/xmlenc#aes128-cbc"/>
    </KeyDescriptor>
    <SingleLogoutService Binding="${bindings}:HTTP-POST" Location="https://app.example/saml/logout"/>
    <NameIDFormat>${formats[1]}:emailAddress</NameIDFormat>
    <AssertionConsumerService index="1" isDefault="true" Binding="${bindings}:HTTP-POST" Location="https://app.example/saml/callback"/>
  </SPSSODescriptor>
</EntityDescriptor>`;

/** Metadata with a signature, descriptors of other roles and protocols, several keys, a missing index. */
export const activeDirectory = ({ signing, encryption }: Keys) => `\ufeff<?xml version="1.0" encoding="utf-8"?>
<EntityDescriptor ID="_4b7c-88" entityID="http://adfs.example/adfs/services/trust" xmlns="${MD}">
  <ds:Signature xmlns:ds="${DS}"><ds:SignedInfo><ds:CanonicalizationMethod Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#"/></ds:SignedInfo><ds:SignatureValue>AAAA</ds:SignatureValue></ds:Signature>
  <RoleDescriptor xsi:type="fed:ApplicationServiceType" protocolSupportEnumeration="http://docs.oasis-open.org/wsfed/federation/200706" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns:fed="http://docs.oasis-open.org/wsfed/federation/200706">
    <KeyDescriptor use="encryption"><KeyInfo xmlns="${DS}"><X509Data><X509Certificate>${encryption}</X509Certificate></X509Data></KeyInfo></KeyDescriptor>
  </RoleDescriptor>
  <SPSSODescriptor WantAssertionsSigned="true" protocolSupportEnumeration="${SAML2}">
    <KeyDescriptor use="encryption"><KeyInfo xmlns="${DS}"><X509Data><X509Certificate>${encryption}</X509Certificate></X509Data></KeyInfo></KeyDescriptor>
    <KeyDescriptor use="signing"><KeyInfo xmlns="${DS}"><X509Data><X509Certificate>${signing}</X509Certificate></X509Data></KeyInfo></KeyDescriptor>
    <KeyDescriptor use="signing"><KeyInfo xmlns="${DS}"><X509Data><X509Certificate>${encryption}</X509Certificate></X509Data></KeyInfo></KeyDescriptor>
    <SingleLogoutService Binding="${bindings}:HTTP-Redirect" Location="https://adfs.example/adfs/ls/"/>
    <SingleLogoutService Binding="${bindings}:HTTP-POST" Location="https://adfs.example/adfs/ls/"/>
    <NameIDFormat>${formats[1]}:unspecified</NameIDFormat>
    <NameIDFormat>${formats[2]}:persistent</NameIDFormat>
    <AssertionConsumerService Binding="${bindings}:HTTP-POST" Location="https://adfs.example/adfs/ls/" index="0" isDefault="true"/>
    <AssertionConsumerService Binding="${bindings}:HTTP-POST" Location="https://adfs.example/adfs/ls/second"/>
  </SPSSODescriptor>
  <IDPSSODescriptor protocolSupportEnumeration="${SAML2}">
    <SingleSignOnService Binding="${bindings}:HTTP-POST" Location="https://adfs.example/adfs/ls/"/>
  </IDPSSODescriptor>
  <Organization>
    <OrganizationName xml:lang="en-US">Example</OrganizationName>
    <OrganizationDisplayName xml:lang="en-US">Example   Inc.
    </OrganizationDisplayName>
    <OrganizationURL xml:lang="en-US">https://example.com/</OrganizationURL>
  </Organization>
</EntityDescriptor>`;

/** Metadata with `validUntil`, and an address with a query. */
export const salesforce = ({
  signing,
}: Keys) => `<?xml version="1.0" encoding="UTF-8"?><md:EntityDescriptor xmlns:md="${MD}" xmlns:ds="${DS}" entityID="https://example.my.salesforce.com" validUntil="2091-11-23T12:00:00.000Z">
   <md:SPSSODescriptor AuthnRequestsSigned="true" WantAssertionsSigned="true" protocolSupportEnumeration="${SAML2}">
      <md:KeyDescriptor use="signing"><ds:KeyInfo><ds:X509Data><ds:X509Certificate>${signing}</ds:X509Certificate></ds:X509Data></ds:KeyInfo></md:KeyDescriptor>
      <md:NameIDFormat>${formats[1]}:unspecified</md:NameIDFormat>
      <md:AssertionConsumerService Binding="${bindings}:HTTP-POST" Location="https://example.my.salesforce.com?so=00D000000000001" index="0" isDefault="true"/>
      <md:AttributeConsumingService index="1"><md:ServiceName xml:lang="en">Salesforce</md:ServiceName><md:RequestedAttribute Name="email"/></md:AttributeConsumingService>
   </md:SPSSODescriptor>
</md:EntityDescriptor>`;

/** Metadata with unusual prefixes, in an aggregate with another entity that is no service provider. */
export const pysaml2 = ({ signing, encryption }: Keys) => `<?xml version='1.0' encoding='UTF-8'?>
<ns0:EntitiesDescriptor xmlns:ns0="${MD}" xmlns:ns1="${DS}" Name="urn:example:all" validUntil="2090-01-01T00:00:00Z">
<ns0:EntityDescriptor entityID="https://idp.example/idp.xml"><ns0:IDPSSODescriptor protocolSupportEnumeration="${SAML2}"><ns0:SingleSignOnService Binding="${bindings}:HTTP-Redirect" Location="https://idp.example/sso"/></ns0:IDPSSODescriptor></ns0:EntityDescriptor>
<ns0:EntityDescriptor entityID="https://py.example/sp.xml"><ns0:SPSSODescriptor AuthnRequestsSigned="false" WantAssertionsSigned="true" protocolSupportEnumeration="${SAML2}"><ns0:KeyDescriptor use="encryption"><ns1:KeyInfo><ns1:X509Data><ns1:X509Certificate>${encryption}</ns1:X509Certificate></ns1:X509Data></ns1:KeyInfo></ns0:KeyDescriptor><ns0:KeyDescriptor use="signing"><ns1:KeyInfo><ns1:X509Data><ns1:X509Certificate>${signing}</ns1:X509Certificate></ns1:X509Data></ns1:KeyInfo></ns0:KeyDescriptor><ns0:SingleLogoutService Binding="${bindings}:HTTP-Redirect" Location="https://py.example/slo/redirect"/><ns0:NameIDFormat>${formats[2]}:persistent</ns0:NameIDFormat><ns0:AssertionConsumerService Binding="${bindings}:HTTP-POST" Location="https://py.example/acs/post" index="1"/></ns0:SPSSODescriptor></ns0:EntityDescriptor>
</ns0:EntitiesDescriptor>`;

/** Returns small metadata. @param of parts of the metadata */
export const plain = (
  of: {
    readonly entityId?: string;
    readonly acs?: string;
    readonly flags?: string;
    readonly inside?: string;
    readonly around?: string;
  } = {},
) => {
  const { entityId = 'https://sp.example/metadata', acs = 'https://sp.example/acs', flags = '', inside = '', around = '' } = of;
  return `<md:EntityDescriptor xmlns:md="${MD}" xmlns:ds="${DS}" entityID="${entityId}" ${around}><md:SPSSODescriptor protocolSupportEnumeration="${SAML2}" ${flags}>${inside}<md:AssertionConsumerService Binding="${bindings}:HTTP-POST" Location="${acs}" index="0"/></md:SPSSODescriptor></md:EntityDescriptor>`;
};

/** Returns a key for {@link plain}. @param inside XML after the certificate */
export const keyDescriptor = (certificate: string, use = 'signing', inside = ''): string =>
  `<md:KeyDescriptor${use === '' ? '' : ` use="${use}"`}><ds:KeyInfo><ds:X509Data><ds:X509Certificate>${certificate}</ds:X509Certificate></ds:X509Data></ds:KeyInfo>${inside}</md:KeyDescriptor>`;
