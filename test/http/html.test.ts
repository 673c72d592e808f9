import { describe, expect, test } from '@jest/globals';
import { Html, html, safeUrl } from '../../lib/http/pages/html.js';
import { hashSource, pageHeaders } from '../../lib/http/pages/security-headers.js';

describe('html', () => {
  test('G7: escapes text and quoted attributes', () => {
    expect(html`<p title="${`"'`}">${'<b>&</b>'}</p>`.markup).toBe('<p title="&quot;&#39;">&lt;b&gt;&amp;&lt;/b&gt;</p>');
  });

  test('nests templates and arrays, and renders nothing for false, null and undefined', () => {
    const items = ['a', '<', 1].map((item) => html`<li>${item}</li>`);
    expect(html`<ul>${items}</ul>${false}${null}${undefined}${0}${['x', [html`<br>`]]}`.markup).toBe(
      '<ul><li>a</li><li>&lt;</li><li>1</li></ul>0x<br>',
    );
  });

  test('G7: only an Html value is markup, whatever else looks like one', () => {
    const impostor = { markup: '<script>', toString: () => '<script>' } as unknown as string;
    expect(() => html`${impostor}`.markup).toThrow(TypeError);
    expect(html`${new Html('<br>')}`.markup).toBe('<br>');
  });

  test.each(['href', 'src', 'action', 'formaction'])('G11: %s takes http(s) URLs and paths of this origin only', (name) => {
    const markup: Record<string, (url: string) => string> = {
      href: (url) => html`<a href="${url}">`.markup,
      src: (url) => html`<img src="${url}">`.markup,
      action: (url) => html`<form action="${url}">`.markup,
      formaction: (url) => html`<button formaction="${url}">`.markup,
    };
    expect(markup[name]?.('javascript:alert(1)')).toContain(`${name}="#"`);
    expect(markup[name]?.('https://a.example/?b=1&c="')).toContain(`${name}="https://a.example/?b=1&amp;c=&quot;"`);
  });
});

describe('safeUrl', () => {
  test.each([
    '/interaction/1',
    '/?a=b#c',
    '?ui_locales=nb',
    '#password',
    'https://client.example/callback?x=1',
    'http://127.0.0.1:3000/',
    'HTTPS://CLIENT.EXAMPLE',
  ])('leaves %j as it is', (url) => {
    expect(safeUrl(url)).toBe(url);
  });

  test.each([
    '',
    'javascript:alert(1)',
    'JaVaScRiPt:alert(1)',
    ' javascript:alert(1)',
    'java\tscript:alert(1)',
    '\u0001javascript:alert(1)',
    'data:text/html,<script>alert(1)</script>',
    'vbscript:x',
    'blob:https://evil.example/1',
    'file:///etc/passwd',
    '//evil.example',
    '///evil.example',
    '/\\evil.example',
    '\\\\evil.example',
    '/\t/evil.example',
    '/\n/evil.example',
    '/\r\\evil.example',
    'evil.example',
    'https:evil.example',
    'https:\\\\evil.example',
    'https://',
    'https://bank.example@evil.example/',
    'https://user:password@evil.example/',
    'http://[::1',
  ])('G11: refuses %j', (url) => {
    expect(safeUrl(url)).toBe('#');
  });
});

describe('pageHeaders', () => {
  const policy = { styles: [hashSource('a {}')] };

  test('G7: a page loads nothing but its own styles, and nobody frames it', () => {
    const headers = pageHeaders('http://localhost:3000', policy);
    expect(headers['Content-Security-Policy']).toBe(
      `default-src 'none'; style-src ${hashSource('a {}')}; base-uri 'none'; frame-ancestors 'none'`,
    );
    expect(headers).toMatchObject({
      'X-Frame-Options': 'DENY',
      'X-Content-Type-Options': 'nosniff',
      'Referrer-Policy': 'no-referrer',
      'Cache-Control': 'no-store',
    });
  });

  test('design §6: no form-action, which would stop the redirect to the client', () => {
    expect(pageHeaders('https://login.example.com', policy)['Content-Security-Policy']).not.toContain('form-action');
  });

  test('security §3: HSTS where the issuer is https, and only there', () => {
    const of = (issuer: string) => pageHeaders(issuer, policy)['Strict-Transport-Security'];
    expect(of('https://login.example.com')).toBe('max-age=31536000; includeSubDomains');
    expect(of('http://localhost:3000')).toBeUndefined();
  });

  test('G7: one script by hash, images by address, and neither opens the policy further', () => {
    const csp = (...images: string[]) => pageHeaders('https://a.example', { ...policy, images })['Content-Security-Policy'];
    expect(csp('/logo.svg')).toContain("; img-src 'self'; ");
    expect(csp('/logo.svg', 'https://cdn.example/f.ico', '/icon.svg')).toContain("; img-src 'self' https://cdn.example/f.ico; ");
    expect(csp('https://cdn.example/a;script-src *,b.png?x')).toContain('; img-src https://cdn.example/a%3Bscript-src%20*%2Cb.png; ');
    const script = hashSource('go()');
    expect(pageHeaders('https://a.example', { ...policy, script })['Content-Security-Policy']).toContain(`; script-src ${script}; `);
  });
});
