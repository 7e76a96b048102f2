'use strict';
(() => {
  const $ = (id) => document.getElementById(id);
  const all = (selector) => [...document.querySelectorAll(selector)];

  // ---- the tool, in a worker: the page stays alive, and stopping it is certain ----

  class Interrupted extends Error {}

  const tool = { worker: null, wasm: null, waiting: new Map(), asked: 0 };

  // The program lies here as base64 of gzip.
  async function program() {
    if (typeof DecompressionStream === 'undefined')
      throw new Error('this browser is too old for the page (2023 or newer is needed)');
    const raw = atob($('wasm').textContent.replace(/\s+/g, ''));
    const bytes = Uint8Array.from(raw, (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
    return new Response(stream).arrayBuffer();
  }

  function receive({ data }) {
    const question = tool.waiting.get(data.id);
    if (!question) return;
    if (data.progress !== undefined) { question.progress(data.progress); return; }
    tool.waiting.delete(data.id);
    if (data.crashed) question.reject(new Error(data.crashed));
    else question.resolve(data);
  }

  function startWorker() {
    const source = new Blob([$('worker-source').textContent], { type: 'text/javascript' });
    const url = URL.createObjectURL(source);
    tool.worker = new Worker(url);
    URL.revokeObjectURL(url);
    tool.worker.onmessage = receive;
    tool.worker.onerror = (event) => stopWorker(new Error(event.message || 'the worker failed'));
    tool.worker.postMessage({ wasm: tool.wasm });
  }

  // Whatever was asked has no answer, now or later.
  function stopWorker(why) {
    if (tool.worker) tool.worker.terminate();
    tool.worker = null;
    const waiting = [...tool.waiting.values()];
    tool.waiting.clear();
    for (const question of waiting) question.reject(why);
  }

  // What `mcamp ARGS` answers: { code, out, err, files }.
  async function ask(args, files, progress) {
    const asked = ++tool.asked;
    if (!tool.wasm) tool.wasm = await program();
    if (asked !== tool.asked) throw new Interrupted();
    if (!tool.worker) startWorker();
    return new Promise((resolve, reject) => {
      tool.waiting.set(asked, { resolve, reject, progress: progress || (() => {}) });
      tool.worker.postMessage({ id: asked, args, files });
    });
  }

  function cancel() {
    tool.asked++;
    stopWorker(new Interrupted());
  }

  // ---- the form, the command line and the link: three forms of one question --------

  const question = () => document.querySelector('input[name=question]:checked').value;

  // Whether a part of the form belongs to the question, with all parts around it.
  function belongs(element) {
    for (let e = element.closest('[data-for]'); e; e = e.parentElement.closest('[data-for]'))
      if (!e.dataset.for.split(' ').includes(question())) return false;
    return true;
  }

  const strategyKind = () => $('strategy').selectedOptions[0];

  function strategyText() {
    const kind = strategyKind();
    const value = $('strategy-value').value.trim();
    return kind.dataset.value ? kind.value + ':' + value : kind.value;
  }

  // [name, value] of everything that is filled in; flags have the value null.
  function options() {
    const given = [];
    for (const input of all('[data-option]')) {
      if (!belongs(input)) continue;
      const name = input.dataset.option;
      if (input.type === 'checkbox') { if (input.checked) given.push([name, null]); continue; }
      if (input.value.trim() !== '') given.push([name, input.value.trim()]);
    }
    if (belongs($('strategy'))) given.push(['strategy', strategyText()]);
    const joined = all('[data-join=amplification]').filter(belongs);
    if (joined.length)
      given.push(['amplification',
        joined.filter((i) => i.checked).map((i) => i.value).join(',') || 'none']);
    return given;
  }

  const argument = ([name, value]) => (value === null ? ['--' + name] : ['--' + name, value]);
  const flatten = (given) => given.map(argument).flat();

  const plain = (text) => encodeURIComponent(text).replace(/%(3A|2C|40)/g, decodeURIComponent);

  function fragment() {
    return '#' + [question(), ...options().map(([name, value]) =>
      plain(name) + (value === null ? '' : '=' + plain(value)))].join('&');
  }

  function setStrategy(text) {
    const [, kind, value] = /^([^:]*):?(.*)$/s.exec(text);
    const option = [...$('strategy').options].find((o) => o.value === kind);
    if (!option || Boolean(option.dataset.value) !== text.includes(':')) return false;
    option.selected = true;
    $('strategy-value').value = value;
    showStrategy();
    return true;
  }

  function setOption(name, value) {
    if (name === 'strategy') return value !== null && setStrategy(value);
    if (name === 'amplification') {
      const inputs = all('[data-join=amplification]');
      const wanted = value === 'none' ? [] : String(value).split(',');
      for (const input of inputs) input.checked = wanted.includes(input.value);
      return wanted.every((w) => inputs.some((input) => input.value === w));
    }
    const input = document.querySelector(`[data-option="${CSS.escape(name)}"]`);
    if (!input || (input.type === 'checkbox') !== (value === null)) return false;
    if (input.type === 'checkbox') input.checked = true;
    else input.value = value;
    return belongs(input);
  }

  // Takes the question of a link; false if it asks what the page cannot.
  function readLink(text) {
    const [first, ...rest] = text.replace(/^#/, '').split('&');
    const radio = all('input[name=question]').find((r) => r.value === first);
    if (!radio) return false;
    radio.checked = true;
    for (const input of all('[data-option]')) {
      if (input.type === 'checkbox') input.checked = false;
      else input.value = '';
    }
    let good = true;
    for (const part of rest) {
      const [name, ...value] = part.split('=');
      try {
        const text = value.length ? decodeURIComponent(value.join('=')) : null;
        good = setOption(decodeURIComponent(name), text) && good;
      } catch (error) {
        good = false;
      }
    }
    const more = all('#more [data-option]').some((i) => i.value !== '');
    if (more) $('more').open = true;
    return good;
  }

  const quoted = (word) => (/^[\w.,:@%+=\/-]+$/.test(word) ? word : `'${word.replace(/'/g, "'\\''")}'`);

  // ---- words: lines as they are printed, to paragraphs, rows and tables -------------

  function element(name, text) {
    const e = document.createElement(name);
    if (text !== undefined) e.textContent = text;
    return e;
  }

  // [{ kind: p | row | table, ... }]
  function blocks(text) {
    const found = [];
    let open = false;                   // the last paragraph goes on
    for (const line of text.split('\n')) {
      const row = /^ {2}(\S(?:.*?\S)?) {2,}(\S.*)$/.exec(line);
      const last = found[found.length - 1];
      if (!line.trim()) { open = false; continue; }
      if (/^..\S.*?\S {2,}\S.*? {2,}\S/.test(line)) {
        if (last && last.kind === 'table') last.lines.push(line);
        else found.push({ kind: 'table', lines: [line] });
        open = false;
      } else if (row && !/[.:;]$/.test(row[1])) {
        found.push({ kind: 'row', label: row[1], value: row[2] });
        open = false;
      } else {
        const own = /^ {2}(\d+ samples, seed |\d+ rounds, \d+ in |--)/.test(line) || /^wrote /.test(line);
        if (open && !own) last.text += ' ' + line.trim();
        else found.push({ kind: 'p', text: line.trim() });
        open = !/[.:]$/.test(line);
      }
    }
    return found;
  }

  function showBlocks(into, found) {
    into.replaceChildren();
    let list = null;
    for (const b of found) {
      if (b.kind === 'row') {
        if (!list) into.append(list = element('dl'));
        list.append(element('dt', b.label), element('dd', b.value));
        continue;
      }
      list = null;
      if (b.kind === 'p') {
        const p = element('p', b.text);
        if (/^(Certified|Not certified|Interrupted)/.test(b.text)) p.className = 'verdict';
        into.append(p);
        continue;
      }
      const table = element('pre', b.lines.join('\n'));
      table.tabIndex = 0;               // so that keys can scroll it
      into.append(table);
    }
  }

  // A privacy statement: numbered items, indented as they are printed.
  function showStatementLines(into, text) {
    let last = null;
    for (const line of text.split('\n')) {
      if (!line.trim()) continue;
      if (last && !/[.;]$/.test(last.textContent) && !/^ *(\d\.|\(\w\)) /.test(line)) {
        last.textContent += ' ' + line.trim();
        continue;
      }
      last = element('p', line.trim());
      last.style.marginLeft = /^ */.exec(line)[0].length / 4 + 'em';
      into.append(last);
    }
  }

  // ---- what is shown ---------------------------------------------------------------

  let links = [];

  function clear() {
    for (const url of links) URL.revokeObjectURL(url);
    links = [];
    $('result').hidden = $('error').hidden = $('legal').hidden = true;
    $('intro').hidden = true;
    for (const id of ['headline', 'words', 'notes', 'pictures', 'legal-words', 'files', 'error'])
      $(id).replaceChildren();
    for (const input of all('[aria-invalid]')) input.removeAttribute('aria-invalid');
  }

  function offer(name, text, what) {
    const link = element('a', what);
    const type = name.endsWith('.svg') ? 'image/svg+xml' : 'text/plain';
    link.href = URL.createObjectURL(new Blob([text], { type }));
    link.download = name;
    links.push(link.href);
    $('files').append(link);
  }

  function draw(name, text) {
    const svg = new DOMParser().parseFromString(text, 'image/svg+xml').documentElement;
    if (svg.localName !== 'svg') return;
    const [title, subtitle] = svg.querySelectorAll(':scope > text');
    const figure = element('figure');
    figure.append(element('figcaption', subtitle.textContent), document.importNode(svg, true));
    subtitle.remove();
    figure.lastChild.setAttribute('role', 'img');
    figure.lastChild.setAttribute('aria-label', title.textContent + '. ' + subtitle.textContent);
    figure.querySelectorAll('svg > text')[1].remove();
    $('pictures').append(figure);
    offer(name, text, 'Picture: ' + title.textContent);
  }

  // The tool's complaint, and the field that it is about.
  function complain(text) {
    const words = text.split('\n').filter((line) => line && !/^\(mcamp --help/.test(line)).join('\n');
    $('error').textContent = words || 'The program ended without a word: nothing is claimed.';
    $('error').hidden = false;
    const named = /--([a-z-]+)/.exec(words);
    const field = named && (named[1] === 'strategy' ? $('strategy-value')
      : document.querySelector(`[data-option="${named[1]}"]`));
    if (!field || !belongs(field)) return;
    field.setAttribute('aria-invalid', 'true');
    if ($('more').contains(field)) $('more').open = true;
    field.focus();
  }

  // How far and how long; not the best value so far, which is no answer.
  function showProgress(text) {
    const percent = /^(\d+)%/.exec(text);
    if (percent) $('progress').value = Number(percent[1]);
    $('progress-text').textContent = text.split(/ {2,}/)
      .filter((part) => /^\d+(%| s$)/.test(part)).join(', ');
  }

  function showStrategy() {
    const kind = strategyKind();
    $('strategy-part').hidden = !kind.dataset.value;
    $('strategy-label').textContent = kind.dataset.value || '';
  }

  function showParts() {
    for (const e of all('[data-for]')) e.hidden = !e.dataset.for.split(' ').includes(question());
    $('go').textContent = question() === 'record' ? 'Check' : 'Answer';
  }

  // `what` is to be seen; what is said aloud is that, or `aloud`.
  function busy(on, what, aloud) {
    $('go').setAttribute('aria-disabled', String(on));
    $('cancel').hidden = $('working').hidden = !on;
    $('answer-part').setAttribute('aria-busy', String(on));
    $('progress').removeAttribute('value');
    $('progress-text').textContent = '';
    $('status').textContent = what;
    $('aloud').textContent = aloud || what;
  }

  // ---- one question, from the button to the last picture ---------------------------

  const RECORD = 'run.txt';
  const CURVE_TAKES = ['rounds', 'epochs', 'batches', 'examples', 'batch-size', 'batching',
    'strategy', 'normalize', 'beta', 'seed'];

  async function recordOfFile() {
    const file = $('record').files[0];
    if (!file) return null;
    return { name: file.name.replace(/[^\w.-]/g, '_').replace(/^-+/, ''), text: await file.text() };
  }

  // { args, files }: what the tool is asked.
  async function theQuestion() {
    const q = question();
    if (q === 'record') {
      const record = await recordOfFile();
      if (!record) return null;
      return { args: ['verify', '--record', record.name], files: { [record.name]: record.text } };
    }
    const given = options();
    const proves = q === 'verify' || q === 'plan' || given.some(([name]) => name === 'certify');
    const args = [q, ...flatten(given)];
    if (proves) args.push('--record', RECORD);
    if (q === 'plan') args.push('--out', 'plan');
    return { args, files: {}, given };
  }

  function showAnswer(asked, answer) {
    const found = blocks(answer.out).filter((b) => b.kind !== 'p' || !/^wrote /.test(b.text));
    $('headline').textContent = found.length ? found[0].text : '';
    showBlocks($('words'), found.slice(1));
    $('notes').textContent = answer.err.trim();
    $('command').textContent = ['mcamp', ...asked.args].map(quoted).join(' ');
    $('link').textContent = $('link').href = location.href.replace(/#.*/, '') + asked.fragment;
    $('link').parentElement.hidden = question() === 'record';
    $('result').hidden = false;
    for (const [name, what] of [[RECORD, 'Record of the proof'], ['plan.txt', 'C'],
      ['plan.scale.txt', 'Column factors of C'], ['plan.json', 'Plan with all digits (JSON)']])
      if (answer.files[name]) offer(name, answer.files[name], what);
    offer('answer.txt', answer.out, 'Answer as text');
    for (const name of ['plan.error.svg', 'plan.c.svg'])
      if (answer.files[name]) draw(name, answer.files[name]);
  }

  // The privacy statement of a record.
  async function showStatement(name, text) {
    const report = await ask(['report', '--record', name], { [name]: text });
    if (report.code !== 0) return;
    showStatementLines($('legal-words'), report.out);
    $('legal').hidden = false;
  }

  // delta against epsilon at the sigma of the question, or of its answer as it is printed.
  async function showCurve(asked, answer) {
    if (asked.given.some(([name]) => name === 'limit')) return;
    const found = /sigma = (\S+)/.exec(answer.out);
    const sigma = asked.given.find(([name]) => name === 'sigma') || (found && ['sigma', found[1]]);
    if (!sigma) return;
    const args = flatten([...asked.given.filter(([name]) => CURVE_TAKES.includes(name)), sigma]);
    const curve = await ask(['curve', ...args, '--points', '25', '--out', '-'], {}, showProgress);
    if (curve.code === 0) draw('curve.svg', curve.out);
  }

  async function answerIt() {
    let answered = false;
    clear();
    busy(true, 'Computing …');
    try {
      const asked = await theQuestion();
      if (!asked) {
        busy(false, '');
        complain('Choose the file of a record first.');
        $('record').focus();
        return 'error';
      }
      asked.fragment = fragment();
      if (question() !== 'record') history.replaceState(null, '', asked.fragment);
      const answer = await ask(asked.args, asked.files, showProgress);
      if (!answer.out.trim() || answer.code > 1) {
        busy(false, '');
        complain(answer.err);
        return 'error';
      }
      showAnswer(asked, answer);
      $('headline').scrollIntoView({ block: 'nearest' });
      answered = true;
      busy(true, '', $('headline').textContent);
      const record = Object.entries(question() === 'record' ? asked.files : answer.files)
        .find(([name]) => name === (question() === 'record' ? asked.args[2] : RECORD));
      if (record && answer.code === 0) await showStatement(...record);
      if (question() !== 'record' && question() !== 'plan') await showCurve(asked, answer);
      busy(false, '', $('headline').textContent);
      return 'done';
    } catch (error) {
      const stopped = error instanceof Interrupted;
      if (answered) {
        busy(false, stopped ? 'Interrupted: the answer stands, the picture is missing.'
          : 'The answer stands, its picture failed: ' + error.message);
        return 'done';
      }
      clear();
      busy(false, stopped ? 'Interrupted: the question is not finished and claims nothing.' : '');
      if (!stopped) complain('The program failed, and nothing is claimed: ' + error.message);
      return stopped ? 'interrupted' : 'error';
    }
  }

  async function submit(event) {
    event.preventDefault();
    if ($('go').getAttribute('aria-disabled') === 'true') return;
    document.body.dataset.state = 'busy';
    document.body.dataset.state = await answerIt();
  }

  async function copy(event) {
    const from = $(event.target.dataset.copy);
    const label = event.target.textContent;
    try {
      await navigator.clipboard.writeText(from.textContent);
      event.target.textContent = 'Copied';
    } catch (error) {                   // not allowed here: select it, for the keyboard
      getSelection().selectAllChildren(from);
      event.target.textContent = 'Selected';
    }
    setTimeout(() => { event.target.textContent = label; }, 1500);
  }

  function fromLink() {
    if (location.hash.length < 2 || location.hash === '#answer-part') return;
    cancel();
    clear();
    $('intro').hidden = false;
    const good = readLink(location.hash);
    showParts();
    showStrategy();
    $('status').textContent = good ? 'The question came with the link.' : '';
    if (!good) complain('The link asks for something that this page does not have: look at each field.');
  }

  $('form').addEventListener('submit', submit);
  $('cancel').addEventListener('click', cancel);
  $('strategy').addEventListener('change', () => {
    $('strategy-value').value = strategyKind().dataset.default || '';
    showStrategy();
  });
  for (const radio of all('input[name=question]')) radio.addEventListener('change', showParts);
  for (const button of all('[data-copy]')) button.addEventListener('click', copy);
  addEventListener('hashchange', fromLink);
  showStrategy();
  showParts();
  fromLink();
})();
