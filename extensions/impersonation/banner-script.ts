/** Values that the banner script contains. */
export interface BannerScriptOptions {
  /** URL of the page that ends the impersonation. */
  readonly end: string;
  /** Texts by language. `{user}` stands for the user's name. */
  readonly texts: Readonly<Record<string, { readonly named: string; readonly unnamed: string; readonly end: string }>>;
  /** Language of a page whose own language has no texts. */
  readonly fallback: string;
}

/**
 * Returns the script that applications include. The script shows at the top of the page that the user is impersonated. The script uses only the attributes
 * of its element, reads no cookie and sends no request. Names are set as text, never as markup. The look is set by properties, because the page's
 * `style-src` does not restrict properties.
 * @see Content Security Policy Level 3 §6.1.13
 */
export const bannerScript = ({ end, texts, fallback }: BannerScriptOptions): string => `(function () {
  'use strict';
  var own = document.currentScript;
  var given = own ? own.dataset : {};
  var act = (given.act || '').trim();
  if (act === '' || act === 'null' || act === 'undefined' || act === '{}') return;
  var TEXTS = ${literal(texts)};
  var wanted = (given.lang || document.documentElement.lang).toLowerCase().split('-')[0].replace(/^n[on]$/, 'nb');
  var lang = Object.prototype.hasOwnProperty.call(TEXTS, wanted) ? wanted : ${literal(fallback)};
  var words = TEXTS[lang];

  function make(name, style, text) {
    var element = document.createElement(name);
    for (var key in style) element.style.setProperty(key, style[key]);
    if (text !== undefined) element.textContent = text;
    return element;
  }

  function show() {
    var user = (given.user || '').trim();
    var says = user === '' ? words.unnamed : words.named.split('{user}').join(user);
    var query = [];
    if (given.clientId) query.push('client_id=' + encodeURIComponent(given.clientId));
    if (given.returnTo) query.push('return_to=' + encodeURIComponent(given.returnTo));
    var host = make('div', { position: 'sticky', top: '0', 'z-index': '2147483647' });
    var bar = make('div', {
      display: 'flex', 'flex-wrap': 'wrap', 'align-items': 'center', 'justify-content': 'space-between', gap: '0 16px',
      padding: '4px 16px', background: '#7a4a00', color: '#ffffff', font: '500 16px/1.35 system-ui, sans-serif',
      'overflow-wrap': 'anywhere'
    });
    bar.setAttribute('role', 'region');
    bar.setAttribute('aria-label', words.unnamed);
    bar.lang = lang;
    bar.appendChild(make('span', { padding: '6px 0' }, says));
    var link = make('a', { display: 'inline-flex', 'align-items': 'center', 'min-height': '44px', color: 'inherit', 'font-weight': '650' }, words.end);
    link.href = ${literal(end)} + (query.length > 0 ? '?' + query.join('&') : '');
    bar.appendChild(link);
    // In a tree of its own, so that the page's styles are not its.
    (host.attachShadow ? host.attachShadow({ mode: 'open' }) : host).appendChild(bar);
    document.body.insertBefore(host, document.body.firstChild);
  }

  if (document.body) show();
  else document.addEventListener('DOMContentLoaded', show);
})();
`;

/** Returns a value as a literal of the script. The literal cannot end the script element, or a line. */
const literal = (value: unknown): string =>
  JSON.stringify(value).replaceAll('<', '\\u003c').replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029');
