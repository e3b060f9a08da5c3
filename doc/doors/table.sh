python practice_table.py
python -m skgpb search patients.csv --features bmi s5 --target progression --report report.html
