// What the server and the browser notice, in plain sentences. Nothing here touches the page: `t`
// and `has` come in, and texts go out.

const FULL = 30; // pictures a second that count as everything
const KINDS = ["track_missing", "track_stopped", "track_ended", "track_back"];

// What a note says; `detail` is the server's own line, which is English.
export function sentence({ kind, text = "" }, { t, has }) {
  const of = KINDS.includes(kind) ? `_${/picture|camera/.test(text) ? "pictures" : "sound"}` : "";
  const key = `note_${kind}${of}`;
  const [, size] = text.match(/to (\d+x\d+)/) || [];
  return has(key) ? t(key, { size: (size || "").replace("x", " × ") }) : t("note_other", { kind: text || kind });
}

// How much the server does, when that is not everything.
export function levelOf(level, { t }) {
  if (!level) return [];
  const { pictures_a_second: pictures, hop_stride: stride, text = "" } = level;
  const [, sessions] = text.match(/^(\d+) (?:sessions )?on \d+ cores/) || [];
  const said = [];
  if (pictures < FULL) said.push(t(Number(sessions) > 1 ? "level_sessions" : "level", { sessions, pictures }));
  if (stride > 1) said.push(t("level_stride", { stride }));
  return said;
}

// What happened more often than is worth telling one by one.
export function counted(counts, { t, has }) {
  return Object.entries(counts).flatMap(([kind, n]) => (n && has(`count_${kind}`) ? [t(`count_${kind}`, { n })] : []));
}

// What the browser's side knows by itself: {muted, silent, sound, picture, denied}.
export function hereOf(here, { t }) {
  if (here === null) return [];
  const said = [];
  if (!here.sound) said.push(t(here.denied === "audio" ? "here_denied_sound" : "here_no_sound"));
  else if (here.muted) said.push(t("here_muted"));
  else if (here.silent) said.push(t("here_silent"));
  if (!here.picture) said.push(t(here.denied === "video" ? "here_denied_picture" : "here_no_picture"));
  return said;
}

// Everything that holds now, the most pressing first, without saying one thing twice.
export function standingOf(state, here, words) {
  const own = hereOf(here, words);
  const known = here === null ? [] : [
    ...(here.sound && !here.muted && !here.silent ? [] : ["audio_stopped", "muted"]),
    ...(here.picture ? [] : ["video_stopped"]),
  ];
  const theirs = [...state.standing.values()].filter(({ kind }) => !known.includes(kind));
  return [...own, ...theirs.map((note) => sentence(note, words)), ...levelOf(state.level, words)];
}

const REFUSALS = [
  ["full", /already has (\d+) sessions/],
  ["ending", /server is ending|is ending/],
  ["version", /speaks version/],
  ["busy", /too many|too fast|requests/],
  ["site", /other sites|go by that name|Host header/],
  ["models", /model|weights/i],
];

// Why the server refused: the name of the texts, and what goes into them.
export function refusalOf(text) {
  for (const [name, pattern] of REFUSALS) {
    const found = text.match(pattern);
    if (found) return { problem: `refused_${name}`, values: { n: found[1] || "", detail: text } };
  }
  return { problem: "refused", values: { detail: text } };
}

// Why a session ended, when it was not by the person's own doing.
export function endOf(reason) {
  if (/nothing came/.test(reason)) return "ended_idle";
  if (/server is ending|cut off/.test(reason)) return "ended_server";
  if (/replaced/.test(reason)) return "ended_replaced";
  if (/connection broke/.test(reason)) return "ended_broke";
  if (/no such session/.test(reason)) return "ended_gone";
  return null;
}
