/** Answers as models give them. */
export const corpus: Readonly<Record<string, string>> = {
  guide: `# Installing on Linux

You'll need **Node.js 22** or newer and about *200 MB* of disk space. Run \`node --version\` first; if it prints \`v18\`, see [the upgrade guide](https://nodejs.org/en/download "Downloads").

## Steps

1. Download the archive:

   \`\`\`bash
   curl -LO https://example.com/tool_1.2.tar.gz # about 40 MB
   tar xf tool_1.2.tar.gz && cd tool_1.2
   \`\`\`

2. Set \`MY_TOOL_HOME\` and the snake_case_name in **~/.profile**.
   - On *Debian*, use \`apt\`:
     1. \`sudo apt update\`
     2. \`sudo apt install tool\`
   - On **Fedora**: \`dnf install tool\`.
3. Check that 2 * 3 * 4 is 24 and *.tmp files are gone.

> **Note:** this is only needed once.
> It may take a while:
>
> > patience is a virtue

- [x] downloaded
- [ ] installed

***

Questions? See <https://example.com/faq> or mail <help@example.com>.
`,
  comparison: `Here is how the three compare:
| Language | Typing | Best for | Speed |
|:---------|:------:|----------|------:|
| Python | dynamic | scripts, data science | 1x |
| TypeScript | static | web front ends | 12x |

In short: ~~C++~~ **Rust** for speed, \`go\` for ~~~everything~~~ servers.
`,
  code: `The bug is in \`parse()\`: the loop never ends.

\`\`\`typescript
/* A comment over
   two lines */
export function parse(text: string): string[] {
	const parts = \`\${text}
still a string\`.split('\\n') // and a comment
	return parts.filter((part) => part !== '')
}
\`\`\`

Done.
`,
  world: `## 世界の言語 🌍

- 日本語のテキストは単語の間に空白がないので、どこでも折り返すことができます。
- 한국어는 **띄어쓰기**가 있어서 단어 사이에서 줄을 바꿀 수 있습니다.
- עברית נכתבת מימין לשמאל, וגם ערבית: العربية من اليمين إلى اليسار.
- Emoji: 👩‍👩‍👧 and 🇫🇷 and ⚠️ and é (e\u0301), *größer* als nichts.
`,
}
