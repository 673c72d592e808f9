import { type Html, html } from './html.js';

export interface LayoutOptions {
  readonly title: string;
  /** Content of the right end of the bar. */
  readonly corner?: Html;
  readonly body: Html;
}

export const layout = ({ title, corner, body }: LayoutOptions): string =>
  html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · Order desk</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/style.css">
</head>
<body>
<header class="bar"><div class="inner"><a class="brand" href="/"><span class="logo" aria-hidden="true">O</span>Order desk</a>${corner}</div></header>
<main class="inner">${body}</main>
<footer class="inner"><p>The relying party of the <b>tenant-idp</b> demo.</p></footer>
</body>
</html>
`.markup;
