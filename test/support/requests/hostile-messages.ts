/** A hundred messages that a hostile client would send with an authentication request. */

const markup = [
  '<script>alert(1)</script>',
  '<img src=x onerror=alert(1)>',
  '"><svg onload=alert(1)>',
  '</blockquote></figure><h1>Approved</h1>',
  '<style>*{display:none}</style>',
  '<iframe src="https://evil.example"></iframe>',
  '<form action="https://evil.example"><button>Approve</button></form>',
  '<meta http-equiv=refresh content="0;url=https://evil.example">',
  '<base href="https://evil.example/">',
  '<input name=csrf value=x>',
  '<a href="https://evil.example">Approve</a>',
  '<!-- the rest is gone',
  '<![CDATA[<script>alert(1)</script>]]>',
  '<plaintext>',
  '<textarea>',
  '&lt;script&gt;alert(1)&lt;/script&gt;',
  '&#x3c;script&#x3e;&NewLine;&colon;',
  "' onfocus=alert(1) autofocus x='",
  '<bdo dir=rtl>evorppA</bdo>',
  '<p hidden>',
];

const links = [
  '[Approve](https://evil.example)',
  '[x](javascript:alert(1))',
  '![x](https://evil.example/x.png)',
  '<https://evil.example>',
  '[x]: https://evil.example\n\n[x]',
  'https://evil.example/approve',
  '[<img src=x onerror=alert(1)>](x)',
  '[a](data:text/html,<script>alert(1)</script>)',
  '**[x](https://evil.example)**',
  'mailto:thief@evil.example',
];

const marks = [
  '**never closed',
  '*',
  '*'.repeat(256),
  `${'**'.repeat(60)}a${'**'.repeat(60)}`,
  '*a**b*c**d*e**f*g**h*',
  '***a** b* **c*',
  '\\*\\*not bold\\*\\* \\\\*italic*',
  '`code` ```fence```',
  '```\n<b>x</b>\n```',
  '| a | b |\n|---|---|\n| 1 | 2 |',
  '> quoted\n> > twice',
  '---\n***\n___',
  'Heading\n=======\nOther\n-------',
  '####### too deep\n#no space\n#  ',
  '# \n- \n* ',
  '- one\n  - two\n    - three',
  '1. one\n2. two',
  '# **bold** *italic* <u>x</u>',
  '~~gone~~ ==marked== ^up^ ~down~',
  '{client} {userName} {{7*7}} %s %n',
];

const bidi = [
  'Pay 100\u202e00 KON\u202c now',
  '\u202eevorppA',
  '\u202dPay\u202c',
  '\u202aPay\u202b 100\u202c\u202c',
  '\u2067Pay 100\u2069 to 900',
  '\u2066\u2067\u2068Pay',
  '\u2069\u2069\u202c\u202cPay',
  'Pay 100\u200f 900',
  'Pay\u200e\u200f\u061c 1 2 3',
  'Pay 5 \u05d0 1000 NOK',
  '\u05d0 Pay 100 to 900',
  'Pay 100 \u05d0\u05d1\u05d2 200 \u05d3\u05d4 300',
  '1 \u0627 2 \u0628 3 \u062a 4',
  '\u0627\u062f\u0641\u0639 100 \u0643\u0631\u0648\u0646\u0629',
  '(\u05d0) [1] {\u05d1} <2>',
  '\u0661\u0662\u0663 100 \u0664',
  '- \u05d0 1\n- \u05d1 2',
  '**1 \u05d0** *2 \u05d1* 3',
  '# \u05d0\u05d1 12 / 34',
  '5 \ufd3e\u0627\ufd3f 6',
  'a\u05d0b\u05d1c\u05d2d 1',
  '+47 \u05d0 22 33 44 55',
  '12:30 \u05d0 14:45 \u05d1 01/02/2026',
  '\u{10800} 1 \u{1e900} 2 \u{1eea0} 3',
];

const controls = [
  'Pay\u0000 100',
  'Pay 100\b\b\b900',
  'Pay\r100',
  'Pay\u000b100\u000c900',
  '\u001b[31mPay\u001b[0m',
  'Pay\u0085100\u009b900',
  'Pay\u2028100\u2029900',
  'Pay\u007f\u0007',
  'Pay\t100',
];

const letters = [
  `P${'\u0310\u0361\u0489'.repeat(40)}ay`,
  '\u0301\u0301\u0301Pay',
  'Pay\u200b100\u2060900\ufeff',
  'Pay\u{e0041}\u{e007f}100',
  '\ufdfd'.repeat(20),
  '\uff1cscript\uff1ealert(1)\uff1c/script\uff1e',
  '\u0420\u0430\u0443 \u0430\u0440\u0440\u0433\u043e\u0432\u0435d',
  'W'.repeat(256),
  '\u{1f468}\u200d\u{1f469}\u200d\u{1f467}\u{1f3f4}\u{e0067}\u{e0062}\u{e007f}',
  'half \ud83d and half \udc4d',
  'never \ufffe \u{1ffff}',
  '\u3164\u115f\u2800\u00ad\u034f\u180e\u17b4',
];

const lines = ['\n\n\n\n# deep\n\n\n', 'a\n'.repeat(120), '  leading   and   many   spaces  ', ' ', '#\n##\n###\n'];

export const hostileMessages: readonly string[] = [...markup, ...links, ...marks, ...bidi, ...controls, ...letters, ...lines];
