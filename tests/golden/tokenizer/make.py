"""Makes the golden models of the tokenizer's tests and prints the ids that Python's sentencepiece gives (written with 0.2.3).

    python make.py FOLDER
"""
import sys
import sentencepiece as sp

folder = sys.argv[1]
ENGLISH = ["the paper reads the words", "a word is read once", "attention is all you need", "you read and the model reads"]
CHINESE = ["注意力就是你所需要的一切", "模型读你写的文字", "文字里有注意力", "（全角）标点，保持原样：好"]
SENTENCES = (ENGLISH + CHINESE) * 3
PROBES = ["the model reads (全角) 文字，原样", " two  spaces ", "word 20 <s> €", "Ａ ﬁ"]

COMMON = dict(minloglevel=2, character_coverage=1.0, num_threads=1)
sp.SentencePieceTrainer.train(
    sentence_iterator=iter(SENTENCES), model_prefix=f"{folder}/ours", vocab_size=380, byte_fallback=True, split_digits=True,
    normalization_rule_name="identity", remove_extra_whitespaces=False, hard_vocab_limit=False, **COMMON)
with open(f"{folder}/rules.tsv", "w") as rules:  # U+FF21 -> A, U+FB01 -> fi, U+FF0C -> ","
    rules.write("FF21\t41\nFB01\t66 69\nFF0C\t2C\n")
sp.SentencePieceTrainer.train(
    sentence_iterator=iter(SENTENCES), model_prefix=f"{folder}/marian", vocab_size=120, model_type="bpe", bos_id=-1, eos_id=0,
    unk_id=1, normalization_rule_tsv=f"{folder}/rules.tsv", hard_vocab_limit=False, **COMMON)
for name in ("ours", "marian"):
    model = sp.SentencePieceProcessor(model_file=f"{folder}/{name}.model")
    print(name, "size", len(model), "bos", model.bos_id(), "eos", model.eos_id(), "unk", model.unk_id())
    for probe in PROBES:
        ids = model.encode(probe)
        print(" ", repr(probe), ids, repr(model.decode(ids)))
