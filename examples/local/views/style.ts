/** The style sheet of the relying party: phone first, light and dark. */
export const styleSheet = `
:root {
  color-scheme: light dark;
  --surface: #ffffff;
  --canvas: #f4f6f6;
  --ink: #131a1a;
  --muted: #566363;
  --line: #dbe2e1;
  --field-line: #84918f;
  --hover: #eef2f1;
  --accent: #0f6b62;
  --accent-pressed: #0b544d;
  --on-accent: #ffffff;
  --link: #0f6b62;
  --tint: #eaf5f3;
  --danger: #b3261e;
  --danger-soft: #fdf2f1;
  --mono: ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace;
}
@media (prefers-color-scheme: dark) {
  :root {
    --surface: #171d1d;
    --canvas: #0e1212;
    --ink: #eef3f2;
    --muted: #a1aeac;
    --line: #2b3433;
    --field-line: #6f7d7b;
    --hover: #212928;
    --accent: #2aa795;
    --accent-pressed: #46baa9;
    --on-accent: #06110f;
    --link: #5cc9b8;
    --tint: #14302c;
    --danger: #ff9d94;
    --danger-soft: #351f1f;
  }
}

*, *::before, *::after { box-sizing: border-box; }
[hidden] { display: none !important; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; scroll-padding-top: 1rem; }
body {
  margin: 0;
  min-height: 100vh;
  min-height: 100dvh;
  display: flex;
  flex-direction: column;
  background: var(--canvas);
  color: var(--ink);
  font: 400 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", sans-serif;
  -webkit-font-smoothing: antialiased;
  overflow-wrap: anywhere;
}
h1, h2, p, ul, dl, dd, pre { margin: 0; }
ul { padding: 0; list-style: none; }
a { color: var(--link); text-underline-offset: 0.2em; text-decoration-thickness: 1px; }
a:hover { text-decoration-thickness: 2px; }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
code, pre { font-family: var(--mono); font-size: 0.78125rem; }
p code, span code { font-size: 0.875rem; }
.inner { width: 100%; max-width: 76rem; margin-inline: auto; padding-inline: 1rem; }
main.inner { flex: 1; padding-block: 2rem; }
footer { padding-block: 0 1.5rem; color: var(--muted); font-size: 0.875rem; }

.bar { background: var(--surface); border-bottom: 1px solid var(--line); }
.bar .inner { display: flex; align-items: center; justify-content: space-between; gap: 1rem; min-height: 4rem; }
.brand { display: inline-flex; align-items: center; gap: 0.625rem; min-height: 2.75rem; color: inherit; font-weight: 650; text-decoration: none; }
.logo { display: grid; place-items: center; width: 2rem; height: 2rem; border-radius: 0.5rem; background: var(--accent); color: var(--on-accent); font-weight: 700; }

.button {
  display: inline-flex;
  align-items: center;
  justify-content: center;
  min-height: 3rem;
  padding: 0.5rem 1.25rem;
  border: 1px solid var(--field-line);
  border-radius: 0.625rem;
  background: transparent;
  color: var(--ink);
  font: inherit;
  font-weight: 600;
  line-height: 1.25;
  text-align: center;
  text-decoration: none;
  cursor: pointer;
}
.button:hover { background: var(--hover); }
.button.primary { border-color: transparent; background: var(--accent); color: var(--on-accent); }
.button.primary:hover { background: var(--accent-pressed); }
.button.small { min-height: 2.75rem; padding: 0.375rem 0.875rem; font-size: 0.9375rem; white-space: nowrap; }
.button.here { border-color: var(--accent); background: var(--tint); cursor: default; }

.home { display: grid; gap: 2.5rem; align-items: center; }
.hero { display: grid; gap: 1rem; max-width: 36rem; }
.hero h1 { font-size: clamp(1.75rem, 1.3rem + 2vw, 2.5rem); line-height: 1.15; font-weight: 700; letter-spacing: -0.02em; text-wrap: balance; }
.hero.narrow { max-width: 34rem; margin-inline: auto; }
.lead { color: var(--muted); font-size: 1.0625rem; text-wrap: pretty; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(10.5rem, 100%), 1fr)); gap: 0.75rem; }
.pair .button { padding-inline: 0.5rem; font-size: 0.9375rem; }
.notice { padding: 0.75rem 1rem; border-radius: 0.625rem; background: var(--tint); font-weight: 550; }
.notice.problem { border: 1px solid var(--danger); background: var(--danger-soft); color: var(--danger); }
.detail { color: var(--muted); }
.more { color: var(--muted); font-size: 0.9375rem; }

.panel { border: 1px solid var(--line); border-radius: 0.875rem; background: var(--surface); overflow: hidden; }
.panel-head { display: flex; align-items: center; justify-content: space-between; gap: 1rem; min-height: 4rem; padding: 0.625rem 1rem; border-bottom: 1px solid var(--line); }
.panel-head h2 { font-size: 1.0625rem; line-height: 1.3; font-weight: 650; }
.panel-head p { color: var(--muted); font-size: 0.875rem; }
.panel .about { padding: 0.75rem 1rem; color: var(--muted); font-size: 0.9375rem; text-wrap: pretty; }
.panel .about + * { border-top: 1px solid var(--line); }
.panel pre { padding: 0.875rem 1rem; white-space: pre-wrap; line-height: 1.55; }
.accounts li { display: grid; gap: 0.0625rem; padding: 0.75rem 1rem; border-bottom: 1px solid var(--line); }
.accounts li span { color: var(--muted); font-size: 0.9375rem; }
.accounts li code { color: var(--ink); }
.accounts .more { padding: 0.875rem 1rem; }

.people li, .feed li { display: grid; gap: 0.0625rem; padding: 0.625rem 1rem; border-bottom: 1px solid var(--line); }
.people span, .feed span { color: var(--muted); font-size: 0.875rem; }
.people + .panel, #persons > .panel + .panel { margin-top: 1.25rem; }
.feed { margin: 0; padding: 0; list-style: none; max-height: 32rem; overflow-y: auto; }
.fields { display: grid; gap: 0.75rem; padding: 1rem; }
.fields label { display: grid; gap: 0.25rem; font-size: 0.9375rem; font-weight: 550; }
.fields input, .fields select { min-height: 2.75rem; padding: 0.375rem 0.75rem; border: 1px solid var(--field-line); border-radius: 0.5rem; background: var(--surface); color: inherit; font: inherit; }

.who { display: flex; flex-wrap: wrap; align-items: center; gap: 0.875rem; margin-bottom: 1.5rem; }
.avatar { display: grid; place-items: center; flex: none; width: 3rem; height: 3rem; border: 1px solid var(--line); border-radius: 50%; background: var(--surface); color: var(--link); font-weight: 650; }
.who > div { flex: 1 1 12rem; min-width: 0; }
.who h1 { font-size: 1.375rem; line-height: 1.25; font-weight: 650; letter-spacing: -0.01em; }
.who p { color: var(--muted); }
.who strong { color: var(--ink); font-weight: 600; }
.who nav { display: flex; flex-wrap: wrap; gap: 0.5rem; }
.acting { display: flex; flex-wrap: wrap; align-items: center; justify-content: space-between; gap: 0.75rem; margin-bottom: 1.5rem; padding: 0.75rem 1rem; border: 1px solid var(--danger); border-radius: 0.625rem; background: var(--danger-soft); }
.acting p { flex: 1 1 14rem; }

.panels { display: grid; gap: 1.25rem; }
.panels > .panel { min-width: 0; }
.claims > div { padding: 0.5rem 1rem; }
.claims > div + div { border-top: 1px solid var(--line); }
.claims .key { background: var(--tint); }
.claims dt { color: var(--muted); font-family: var(--mono); font-size: 0.8125rem; }
.claims .key dt { color: var(--link); font-weight: 600; }
.claims dd code { display: block; white-space: pre-wrap; line-height: 1.6; }
.claims small { display: block; color: var(--muted); font-size: 0.8125rem; }

@media (min-width: 30rem) {
  .inner { padding-inline: 1.5rem; }
  .claims > div { display: grid; grid-template-columns: 10.5rem minmax(0, 1fr); gap: 1rem; align-items: baseline; }
  .claims > .wide { display: block; }
}
@media (min-width: 60rem) {
  main.inner { padding-block: 2.5rem; }
  .home { grid-template-columns: minmax(0, 1fr) minmax(0, 25rem); gap: 5rem; min-height: 26rem; }
  .panels { display: block; columns: 2; column-gap: 1.25rem; }
  .panels > .panel { break-inside: avoid; margin-bottom: 1.25rem; }
}
@media (forced-colors: active) {
  .logo, .avatar, .notice { border: 1px solid currentcolor; }
}
`;
