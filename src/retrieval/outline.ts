/** What a text is written in. HTML has become Markdown by the time it is cut. */
export type TextKind = 'markdown' | 'plain';

/** A heading with what stands below it. Offsets are UTF-16 code units of the text. */
export type Section = {
  start: number;
  end: number;
  /** The headings above it, outermost first, joined by ` > `. The title is not among them. */
  heading: string;
};

type Line = { text: string; start: number; end: number };
type Heading = { level: number; title: string; start: number; end: number };

/** The sections of a text in order; together they are the whole text, without the front matter of a Markdown file. */
export function sectionsOf(text: string, kind: TextKind): Section[] {
  const start = kind === 'markdown' ? frontMatterEnd(text) : 0;
  const headings = (kind === 'markdown' ? markdownHeadings : plainHeadings)(linesOf(text, start));
  const path: Heading[] = [];
  const sections: Section[] = [];
  let open: Section = { start, end: start, heading: '' };
  let bodyStart = start;
  for (const heading of [...headings, undefined]) {
    const end = heading?.start ?? text.length;
    // A heading with nothing below it belongs to the next section.
    if (text.slice(bodyStart, end).trim() !== '' || heading === undefined) {
      sections.push({ ...open, end });
      open = { ...open, start: end };
    }
    if (heading === undefined) break;
    while ((path.at(-1)?.level ?? 0) >= heading.level) path.pop();
    path.push(heading);
    open = { ...open, heading: nameOf(path) };
    bodyStart = heading.end;
  }
  return sections.filter((section) => text.slice(section.start, section.end).trim() !== '');
}

/** Where the text proper begins. */
export function frontMatterEnd(text: string): number {
  return /^---\r?\n[\s\S]*?\r?\n---[ \t]*(?:\r?\n|$)/.exec(text)?.[0].length ?? 0;
}

function nameOf(path: readonly Heading[]): string {
  const below = path.filter(({ level }) => level > 1);
  return below.map(({ title }) => title).join(' > ');
}

function linesOf(text: string, from: number): Line[] {
  const lines: Line[] = [];
  for (let start = from; start < text.length;) {
    const feed = text.indexOf('\n', start);
    const end = feed === -1 ? text.length : feed + 1;
    lines.push({ text: text.slice(start, end).trimEnd(), start, end });
    start = end;
  }
  return lines;
}

/** `# Title` and underlined titles, not those inside of code. */
function markdownHeadings(lines: readonly Line[]): Heading[] {
  const headings: Heading[] = [];
  let fence = '';
  lines.forEach((line, at) => {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line.text)?.[1] ?? '';
    if (fence !== '') {
      if (mark.startsWith(fence)) fence = '';
      return;
    }
    if (mark !== '') {
      fence = mark;
      return;
    }
    const hashes = /^ {0,3}(?<marks>#{1,6})[ \t]+(?<title>.*?)[ \t]*#*$/.exec(line.text)?.groups;
    if (hashes !== undefined) {
      const { marks = '', title = '' } = hashes;
      headings.push({ level: marks.length, title, start: line.start, end: line.end });
      return;
    }
    const next = lines[at + 1];
    const under = /^ {0,3}(=+|-{2,})$/.exec(next?.text ?? '')?.[1];
    if (next === undefined || under === undefined || !/^ {0,3}[^\s>*+-]/.test(line.text)) return;
    const level = under.startsWith('=') ? 1 : 2;
    headings.push({ level, title: line.text.trim(), start: line.start, end: next.end });
  });
  return headings;
}

/** A short line above a paragraph that ends in no mark, as people write titles where there is no markup. */
function plainHeadings(lines: readonly Line[]): Heading[] {
  return lines.flatMap((line, at) => {
    const above = lines[at - 1]?.text ?? '';
    const below = lines[at + 1]?.text ?? '';
    const isTitle = /^\p{L}.{1,58}[^\s.,:;!?]$/u.test(line.text);
    if (above !== '' || !isTitle || (below === '' && at > 0)) return [];
    const level = at === 0 && below === '' ? 1 : 2;
    return [{ level, title: line.text.trim(), start: line.start, end: line.end }];
  });
}
