/** Style sheet of all pages: one constant, so that the Content-Security-Policy has one hash for it. */

/** Background of the card in each colour scheme. Accents are adjusted to it. */
export const surfaces = { light: '#ffffff', dark: '#1a1c22' } as const;

/** Colour around the card. */
export const canvases = { light: '#f3f4f8', dark: '#101116' } as const;

export const styleSheet = `
:root {
  color-scheme: light dark;
  --surface: ${surfaces.light};
  --canvas: ${canvases.light};
  --ink: #14161c;
  --muted: #565d6d;
  --line: #d9dde6;
  --field-line: #868d9c;
  --field: #ffffff;
  --hover: #f4f5f9;
  --danger: #b3261e;
  --danger-soft: #fdf2f1;
  --acting: #7a4a00;
  --on-acting: #ffffff;
  --shadow: 0 1px 2px rgb(20 22 40 / 5%), 0 12px 40px -12px rgb(20 22 40 / 16%);
}
@media (prefers-color-scheme: dark) {
  :root {
    --surface: ${surfaces.dark};
    --canvas: ${canvases.dark};
    --ink: #f0f1f5;
    --muted: #a5abb9;
    --line: #30343e;
    --field-line: #767d8c;
    --field: #14161b;
    --hover: #23262e;
  --danger: #ff9d94;
    --danger-soft: #351f1f;
    --acting: #ffd27a;
  --on-acting: #201500;
  --shadow: 0 0 0 1px #2a2d36, 0 16px 48px -12px rgb(0 0 0 / 60%);
  }
}

*, *::before, *::after { box-sizing: border-box; }
[hidden] { display: none !important; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body {
  margin: 0;
  min-height: 100vh;
  min-height: 100dvh;
  display: flex;
  flex-direction: column;
  background: var(--surface);
  color: var(--ink);
  font: 400 1rem/1.5 var(--font);
  -webkit-font-smoothing: antialiased;
  overflow-wrap: anywhere;
}
h1, h2, p, ul, dl, dd { margin: 0; }
ul { padding: 0; list-style: none; }
[hidden] { display: none !important; }
a { color: var(--link); text-underline-offset: 0.2em; text-decoration-thickness: 1px; }
a:hover { text-decoration-thickness: 2px; }
svg { display: block; flex: none; fill: none; stroke: currentcolor; stroke-width: 1.75; stroke-linecap: round; stroke-linejoin: round; }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }

.acting {
  display: flex;
  flex-wrap: wrap;
  align-items: center;
  justify-content: space-between;
  gap: 0 1rem;
  width: 100%;
  max-width: 27rem;
  margin: 0 auto;
  padding: 0.5rem 1.25rem;
  background: var(--acting);
  color: var(--on-acting);
  font-weight: 550;
  line-height: 1.35;
}
.acting p { flex: 1 1 11rem; padding-block: 0.375rem; }
.acting a { display: inline-flex; align-items: center; min-height: 2.75rem; color: inherit; font-weight: 650; }
.acting a:focus-visible { outline-color: currentcolor; }

main { flex: 1; width: 100%; max-width: 27rem; margin: 0 auto; padding: 2.5rem 1.25rem 1.5rem; }

.intro { margin-bottom: 1.75rem; }
.mark {
  display: flex;
  align-items: center;
  justify-content: center;
  width: 3rem;
  height: 3rem;
  margin-bottom: 1.25rem;
  border: 1px solid transparent;
  border-radius: 50%;
  background: var(--hover);
}
.mark.problem { background: var(--danger-soft); color: var(--danger); }
.logo { display: block; width: auto; height: auto; max-width: 100%; max-height: 3rem; margin-bottom: 1.25rem; }
.whole { white-space: nowrap; }
h2 { font-size: 1rem; line-height: 1.4; font-weight: 600; text-wrap: balance; }
h1 { font-size: 1.5rem; line-height: 1.25; font-weight: 650; letter-spacing: -0.015em; text-wrap: balance; }
.lead { margin-top: 0.375rem; color: var(--muted); text-wrap: pretty; }
.names { margin-top: 0.375rem; color: var(--muted); font-weight: 500; text-wrap: balance; }

.stack { display: grid; gap: 1.25rem; }
.stack > * { min-width: 0; }
.stack > * + h2 { margin-top: 0.5rem; }
.stack > h2 + * { margin-top: -0.5rem; }

.alert {
  display: flex;
  gap: 0.75rem;
  padding: 0.75rem 0.875rem;
  border: 1px solid var(--danger);
  border-radius: var(--radius);
  background: var(--danger-soft);
  color: var(--danger);
  font-weight: 500;
  line-height: 1.4;
}
.alert svg { margin-top: 0.0625rem; }
.alert p { text-wrap: pretty; }
.alert ul { display: grid; gap: 0.25rem; }
.alert a { color: inherit; }
.alert:focus-visible { outline: 2px solid var(--danger); outline-offset: 1px; }

label { display: block; margin-bottom: 0.375rem; font-weight: 550; }
.hint { margin: -0.25rem 0 0.5rem; color: var(--muted); font-size: 0.9375rem; text-wrap: pretty; }
.field :is(input, select) {
  display: block;
  width: 100%;
  min-height: 3rem;
  padding: 0.625rem 0.875rem;
  border: 1px solid var(--field-line);
  border-radius: var(--radius);
  background: var(--field);
  color: inherit;
  font: inherit;
  font-size: 1rem;
  appearance: none;
}
.field select {
  padding-inline-end: 2.5rem;
  background-image: linear-gradient(45deg, transparent 50%, var(--muted) 50%), linear-gradient(135deg, var(--muted) 50%, transparent 50%);
  background-position: right 1.25rem center, right 0.9375rem center;
  background-size: 0.3125rem 0.3125rem;
  background-repeat: no-repeat;
  text-overflow: ellipsis;
}
.field :is(input, select):hover { border-color: var(--ink); }
.field :is(input, select):focus-visible { border-color: var(--link); outline: 2px solid var(--link); outline-offset: -1px; }
.field :is(input, select)[aria-invalid] { border-color: var(--danger); }
.field :is(input, select)[aria-invalid]:focus-visible { outline-color: var(--danger); }
.secret { position: relative; }
.secret input { padding-inline-end: 3.25rem; }
.secret input::-ms-reveal { display: none; }
.reveal {
  position: absolute;
  inset-block: 0;
  inset-inline-end: 0;
  display: flex;
  align-items: center;
  justify-content: center;
  width: 3rem;
  padding: 0;
  border: 0;
  border-radius: var(--radius);
  background: transparent;
  color: var(--muted);
  cursor: pointer;
}
.reveal:hover { color: var(--ink); }
.reveal[aria-pressed="false"] .shut { display: none; }
.field-problem { margin-top: 0.375rem; color: var(--danger); font-size: 0.9375rem; font-weight: 500; }

.button {
  display: flex;
  align-items: center;
  justify-content: center;
  width: 100%;
  min-height: 3rem;
  padding: 0.625rem 1rem;
  border: 1px solid transparent;
  border-radius: var(--radius);
  background: var(--accent);
  color: var(--on-accent);
  font: inherit;
  font-weight: 600;
  line-height: 1.25;
  text-align: center;
  text-decoration: none;
  cursor: pointer;
  transition: background-color 120ms ease-out;
}
.button:hover, .button:active { background: var(--accent-pressed); }
.button.quiet { border-color: var(--field-line); background: transparent; color: var(--ink); }
.button.quiet:hover { background: var(--hover); }
.button.warning { border-color: var(--danger); background: transparent; color: var(--danger); }
.button.warning:hover { background: var(--danger-soft); }
.pair { display: flex; flex-wrap: wrap; gap: 0.75rem; }
.pair > * { flex: auto; width: auto; }
.text-link {
  display: inline-flex;
  align-items: center;
  justify-content: center;
  min-height: 2.75rem;
  padding: 0 0.25rem;
  border-radius: calc(var(--radius) / 2);
  font-weight: 550;
}
.up { margin: -0.75rem 0 0.25rem -0.375rem; font-weight: 400; }
.up svg { transform: rotate(180deg); }
.centred { justify-self: center; margin-block: -0.5rem -0.75rem; padding: 0 1rem; }

.account {
  display: flex;
  align-items: center;
  gap: 0.75rem;
  min-height: 3.5rem;
  padding: 0.375rem 0.875rem;
  border: 1px solid var(--line);
  border-radius: var(--radius);
}
.person { display: flex; align-items: center; gap: 0.75rem; flex: 1 1 auto; min-width: 0; max-width: 100%; }
.who { min-width: 0; line-height: 1.35; }
div.account, .entry { flex-wrap: wrap; row-gap: 0; padding-block: 0.5rem; }
div.account, .entry { column-gap: 0.5rem; }
div.account > .person { flex-basis: 9rem; }
.entry > .person { flex-basis: 12rem; }
:is(div.account, .entry) > .person { min-width: auto; overflow-wrap: break-word; }
.account > .text-link { margin-inline-start: auto; padding: 0; white-space: nowrap; }
.who strong { display: block; font-weight: 600; }
.who span { display: block; color: var(--muted); font-size: 0.9375rem; }
.who .badge { width: fit-content; margin-block: 0.125rem; padding: 0 0.5rem; border: 1px solid var(--field-line); border-radius: 1rem; color: var(--ink); font-size: 0.8125rem; font-weight: 550; }
.avatar {
  display: flex;
  align-items: center;
  justify-content: center;
  flex: none;
  width: 2.25rem;
  height: 2.25rem;
  border-radius: 50%;
  border: 1px solid transparent;
  background: var(--hover);
  color: var(--ink);
  font-size: 0.875rem;
  font-weight: 600;
}
button.account, a.account {
  width: 100%;
  min-height: 4.25rem;
  padding: 0.75rem 0.875rem;
  background: transparent;
  color: inherit;
  font: inherit;
  text-align: start;
  text-decoration: none;
  cursor: pointer;
  transition: background-color 120ms ease-out;
}
summary.account { min-height: 4.25rem; padding: 0.75rem 0.875rem; cursor: pointer; list-style: none; transition: background-color 120ms ease-out; }
summary.account::-webkit-details-marker { display: none; }
summary.account:hover { background: var(--hover); border-color: var(--link); }
summary.account > svg { color: var(--muted); transform: rotate(90deg); }
.choice[open] > summary > svg { transform: rotate(-90deg); }
.choice > .stack { padding-top: 1.25rem; }
a.account { justify-content: space-between; text-decoration: none; }
button.account:hover, a.account:hover { background: var(--hover); border-color: var(--link); }
button.account > svg, a.account > svg { color: var(--muted); }
.facts { display: grid; gap: 0.5rem; }
.facts div { display: flex; flex-wrap: wrap; gap: 0 0.75rem; }
.facts dt { flex: none; min-width: 8.5rem; max-width: 100%; color: var(--muted); }
.facts dd { flex: 1 1 8rem; min-width: 0; font-variant-numeric: tabular-nums; }
.quote { margin: 0; }
.quote figcaption { margin-bottom: 0.375rem; font-weight: 550; }
.quote blockquote { contain: paint; direction: ltr; display: grid; gap: 0.5rem; margin: 0; padding: 0.75rem 0.875rem; border: 1px solid var(--field-line); border-inline-start: 4px solid var(--accent); border-radius: var(--radius); background: var(--hover); unicode-bidi: isolate; white-space: pre-wrap; }
.quote h2, .quote h3, .quote h4 { margin: 0; font-size: 1rem; line-height: 1.4; font-weight: 650; }
.quote h2 { font-size: 1.125rem; }
.quote h4 { font-size: 0.9375rem; }
.quote.code blockquote { font: 650 2rem/1.2 ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, monospace; letter-spacing: 0.15em; text-align: center; }
.quote ul { padding-inline-start: 1.25rem; list-style: disc; }
.points { display: grid; gap: 0.5rem; padding-inline-start: 1.25rem; list-style: disc; }
.check { display: flex; align-items: center; gap: 0.75rem; min-height: 2.75rem; margin: 0; font-weight: 400; }
.check input { flex: none; width: 1.25rem; height: 1.25rem; margin: 0; accent-color: var(--accent); }
.qr { width: 13rem; max-width: 100%; height: auto; justify-self: center; border-radius: var(--radius); }
.copy ul { display: flex; flex-wrap: wrap; gap: 0.25rem 1.5rem; margin-top: 0.375rem; padding: 0.75rem 0.875rem; border: 1px solid var(--line); border-radius: var(--radius); user-select: all; }
.or { text-align: center; color: var(--muted); }
.links { display: flex; flex-wrap: wrap; gap: 0 1.25rem; margin-block: -0.5rem; }
.links .text-link { padding: 0; font-weight: 400; }
.search { display: grid; grid-template-columns: 1fr auto; align-items: end; gap: 0.75rem; }
.search .button { width: auto; }
.choices { display: grid; gap: 0.75rem; }
button.text-link:not(.centred) { text-align: start; }
button.text-link { border: 0; background: transparent; color: var(--link); font: inherit; font-weight: 550; text-decoration: underline; text-underline-offset: 0.2em; cursor: pointer; }

.scopes { margin-top: 0.75rem; border: 1px solid var(--line); border-radius: var(--radius); }
.scopes li { padding: 0.625rem 0.875rem; text-wrap: pretty; }
.scopes li + li { border-top: 1px solid var(--line); }
.scopes .text-link, p .text-link { padding: 0; }
.scopes .data { color: var(--muted); font-size: 0.9375rem; }

.developer { padding: 0.25rem 0.875rem; border: 1px dashed var(--field-line); border-radius: var(--radius); font-size: 0.875rem; }
.developer summary { display: flex; align-items: center; min-height: 2.75rem; font-weight: 600; cursor: pointer; }
.developer dl { padding-bottom: 0.75rem; }
.developer dt { margin-top: 0.5rem; color: var(--muted); }
.developer dd, code { font-family: ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, monospace; }
.developer dd { white-space: pre-wrap; }
.reference { padding: 0.375rem 0; }
.reference code { color: var(--ink); font-size: 0.875rem; user-select: all; }

footer { width: 100%; max-width: 27rem; margin: 0 auto; padding: 0 1.25rem 1.25rem; color: var(--muted); font-size: 0.9375rem; }
.additions { display: flex; flex-wrap: wrap; align-items: center; gap: 0 1rem; }
.additions .text-link { padding: 0; color: inherit; font-weight: 400; }
.additions .text-link:hover { color: var(--ink); }
.languages summary {
  display: inline-flex;
  align-items: center;
  gap: 0.5rem;
  min-height: 2.75rem;
  padding: 0 0.5rem;
  margin-inline-start: -0.5rem;
  border-radius: var(--radius);
  cursor: pointer;
  list-style: none;
}
.languages summary::-webkit-details-marker { display: none; }
.languages summary:hover { color: var(--ink); }
.languages ul { display: flex; flex-wrap: wrap; gap: 0 1rem; }
.languages .text-link { padding: 0; font-weight: 400; }
.languages [aria-current] { color: var(--ink); font-weight: 600; text-decoration: none; }

.off-screen {
  position: absolute;
  width: 1px;
  height: 1px;
  margin: -1px;
  padding: 0;
  border: 0;
  overflow: hidden;
  clip-path: inset(50%);
  white-space: nowrap;
}
.wait { display: flex; align-items: center; gap: 0.75rem; }
.wait .lead { margin: 0; }
noscript p { margin-bottom: 1.25rem; }
.waiting { flex: none; width: 1.75rem; height: 1.75rem; border: 3px solid var(--line); border-top-color: var(--accent); border-radius: 50%; }

@media (min-width: 30rem) {
  body { background: radial-gradient(72rem 36rem at 50% -12rem, color-mix(in srgb, var(--accent) 8%, transparent), transparent) no-repeat var(--canvas); justify-content: center; padding: 2rem 1rem; }
  main { flex: none; padding: 2.5rem; border: 1px solid transparent; border-radius: calc(var(--radius) * 1.6); background: var(--surface); box-shadow: var(--shadow); }
  .acting { margin-bottom: 1rem; border-radius: var(--radius); }
  footer { padding: 0.75rem 2.5rem 0; }
}
@media (prefers-reduced-motion: no-preference) {
  .waiting { animation: turn 900ms linear infinite; }
  @keyframes turn { to { transform: rotate(1turn); } }
}
@media (prefers-reduced-motion: reduce) {
  .button, button.account, a.account, summary.account { transition: none; }
}
@media (scripting: none) {
  .wait { display: none; }
}
@media (forced-colors: active) {
  .mark, .avatar, .button, main { border-color: currentcolor; }
  .waiting { border-top-color: Highlight; }
}
`;
