/** Mail as text and as HTML. Mail programs support few styles, so each element has its own styles, and nothing is loaded. */
import {
  type ExtensionContext,
  type Html,
  html,
  type LetterPart,
  type Locale,
  present,
  type WriteLetter,
} from '../../lib/extension-door.js';
import { brandingOf, fillOf } from './branding.js';
import { wordsIn } from './extension-view.js';
import { negotiateLocale } from './texts/index.js';

const ink = '#1c1d26';
const muted = '#5b5d6b';

export const createWriteLetter =
  ({ service: { branding, locales }, pages: { texts } }: ExtensionContext): WriteLetter =>
  ({ to, kind, tid, clientId, person, locale: wanted = '', subject: subjectText, parts: given }, { client, tenant }) => {
    const uiLocales = `${person?.locale ?? ''} ${wanted}`;
    const locale = negotiateLocale({ uiLocales, tenantLocale: tenant?.locale }, locales as readonly Locale[]);
    const words = wordsIn({ locale, texts: texts(locale) });
    const subject = words(subjectText).replace(/\s+/g, ' ');
    const parts = given.map((part) => ({ ...part, text: words(part.text) }));
    const names = [client?.name, tenant?.name].filter((name) => name !== undefined);
    return {
      to,
      subject,
      text: [...parts.map(inText), names.join(' · ')].filter(Boolean).join('\n\n').concat('\n'),
      html: documentOf({ subject, locale, names, parts, colours: fillOf(brandingOf(branding, { client, tenant })) }),
      locale,
      kind,
      tid,
      ...present({ clientId }),
    };
  };

const inText = (part: LetterPart<string>): string => (part.part === 'button' ? `${part.text}:\n${part.href}` : part.text);

interface Document {
  readonly subject: string;
  readonly locale: Locale;
  readonly names: readonly string[];
  readonly parts: readonly LetterPart<string>[];
  readonly colours: ReturnType<typeof fillOf>;
}

function documentOf({ subject, locale, names, parts, colours }: Document): string {
  const inHtml = (part: LetterPart<string>): Html => {
    switch (part.part) {
      case 'text':
        return html`<p style="margin:0 0 16px">${part.text}</p>`;
      case 'note':
        return html`<p style="margin:0 0 16px;font-size:14px;color:${muted}">${part.text}</p>`;
      case 'button':
        return html`<p style="margin:0 0 16px"><a href="${part.href}" style="display:inline-block;padding:12px 20px;border-radius:${colours.radius}px;background:${colours.fill};color:${colours.onFill};font-weight:600;text-decoration:none">${part.text}</a></p>
<p style="margin:0 0 16px;font-size:14px;color:${muted};word-break:break-all">${part.href}</p>`;
    }
  };
  return html`<!doctype html>
<html lang="${locale}">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light"><title>${subject}</title></head>
<body style="margin:0;padding:24px;background:#f4f4f8">
<main style="max-width:480px;margin:0 auto;padding:32px;border-top:4px solid ${colours.fill};border-radius:${colours.radius}px;background:#ffffff;color:${ink};font:16px/1.5 ${colours.font}">
<h1 style="margin:0 0 16px;font-size:22px;line-height:1.25">${subject}</h1>
${parts.map(inHtml)}
<p style="margin:0;font-size:14px;color:${muted}">${names.join(' · ')}</p>
</main>
</body>
</html>
`.markup;
}
