// What was said, with the words that point, and the stroke that each was bound to.

const SHOWN = 60;
const CHINESE = /^[\u3000-\u9fff\uff00-\uffef]/;

export class SaidView {
  constructor(box, t) {
    Object.assign(this, { box, t });
  }

  show(state) {
    const from = state.words.slice(-SHOWN);
    const nodes = [];
    let previous = null;
    for (const word of [...from, ...state.partial.map((one) => ({ ...one, open: true }))]) {
      if (previous && word.utterance !== previous.utterance) nodes.push(document.createElement("br"));
      else if (previous && !CHINESE.test(word.text)) nodes.push(" ");
      nodes.push(this.word(state, word));
      previous = word;
    }
    this.box.lang = from.at(-1)?.language || "";
    this.box.classList.toggle("quiet", nodes.length === 0);
    this.box.replaceChildren(...(nodes.length ? nodes : [this.t("said_nothing")]));
    this.box.scrollTop = this.box.scrollHeight;
  }

  word(state, word) {
    const deictic = word.open ? null : state.pointing(word);
    const node = document.createElement(deictic ? "mark" : "span");
    node.textContent = word.text;
    if (word.open) node.className = "open";
    const binding = deictic && state.bindingOf(deictic);
    const stroke = binding && state.strokes.get(binding.stroke);
    if (stroke && word.offset >= deictic.offset - 1e-4) {
      const number = document.createElement("sup");
      number.textContent = stroke.index + 1;
      number.setAttribute("aria-label", this.t("stroke_n", { n: stroke.index + 1 }));
      node.append(number);
    }
    return node;
  }
}
